//! Where the parts of a drawing go. Nodes stand below each other, entry first, each with its outgoing edges
//! listed under its own lines; an arrow leaves its line at the side, runs in a lane of its own and enters the box
//! of its target. Edges downwards run on the right, the others on the left, so nothing crosses a text.

use crate::Drawing;

/// Height of a line of text.
pub(crate) const LINE: f64 = 16.0;
/// Width of a letter: the font has only one.
pub(crate) const LETTER: f64 = 7.25;
/// Room beside and above text.
pub(crate) const MARGIN: f64 = 10.0;
const LANE: f64 = 14.0;
const GAP: f64 = 26.0;

/// A placed drawing; boxes all have the same width.
pub(crate) struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Left side of the boxes, and their width.
    pub(crate) left: f64,
    pub(crate) box_width: f64,
    /// By node.
    pub(crate) boxes: Vec<Placed>,
    /// By edge.
    pub(crate) arrows: Vec<Route>,
}

/// A node's box.
pub(crate) struct Placed {
    pub(crate) top: f64,
    pub(crate) height: f64,
    /// Where the lines of outgoing edges begin.
    pub(crate) edges_top: f64,
}

/// An arrow: out at one height, along a lane, in at another.
pub(crate) struct Route {
    /// First line of the edge's text.
    pub(crate) text_top: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) lane: f64,
    pub(crate) downwards: bool,
}

pub(crate) fn layout(drawing: &Drawing, top: f64) -> Layout {
    let order = order(drawing);
    let rank = |node: usize| order.iter().position(|known| *known == node).unwrap_or(0);
    let mut boxes: Vec<Placed> =
        drawing.boxes.iter().map(|_| Placed { top, height: 0.0, edges_top: 0.0 }).collect();
    let mut texts = vec![0.0; drawing.arrows.len()];
    let mut y = top;
    for node in &order {
        let edges_top = y + MARGIN + LINE * drawing.boxes[*node].lines.len() as f64 + MARGIN / 2.0;
        let mut line = edges_top;
        for (number, edge) in drawing.arrows.iter().enumerate().filter(|(_, edge)| edge.from == *node) {
            texts[number] = line;
            line += LINE * edge.lines.len() as f64;
        }
        boxes[*node] = Placed { top: y, height: line + MARGIN / 2.0 - y, edges_top };
        y = line + MARGIN / 2.0 + GAP;
    }
    let texts_of_boxes = drawing.boxes.iter().flat_map(|node| &node.lines).map(|line| &line.text);
    let all = texts_of_boxes.chain(drawing.arrows.iter().flat_map(|arrow| &arrow.lines));
    let longest = all.map(|text| text.chars().count()).max().unwrap_or(0);
    let box_width = 2.0 * MARGIN + LETTER * longest as f64;
    let mut arrows: Vec<Route> = Vec::new();
    let mut entered = vec![0usize; drawing.boxes.len()];
    for (number, edge) in drawing.arrows.iter().enumerate() {
        let height = boxes[edge.to].height;
        let to = boxes[edge.to].top + (8.0 + 7.0 * entered[edge.to] as f64).min(height - 4.0);
        entered[edge.to] += 1;
        let downwards = rank(edge.from) < rank(edge.to);
        arrows.push(Route {
            text_top: texts[number],
            from: texts[number] + LINE / 2.0,
            to,
            lane: 0.0,
            downwards,
        });
    }
    let lanes = [false, true].map(|downwards| assign_lanes(&mut arrows, downwards));
    let left = MARGIN + LANE * (lanes[0] + 1) as f64;
    for arrow in &mut arrows {
        arrow.lane = match arrow.downwards {
            true => left + box_width + LANE * (arrow.lane + 1.0),
            false => left - LANE * (arrow.lane + 1.0),
        };
    }
    let width = left + box_width + LANE * (lanes[1] + 1) as f64 + MARGIN;
    Layout { width, height: y - GAP, left, box_width, boxes, arrows }
}

/// Gives arrows of one side the first lane in which they overlap no other; says how many lanes there are.
fn assign_lanes(arrows: &mut [Route], downwards: bool) -> usize {
    let mut lanes: Vec<Vec<(f64, f64)>> = Vec::new();
    for arrow in arrows.iter_mut().filter(|arrow| arrow.downwards == downwards) {
        let (low, high) = (arrow.from.min(arrow.to), arrow.from.max(arrow.to));
        let free = |lane: &Vec<(f64, f64)>| lane.iter().all(|(start, end)| high < *start || *end < low);
        let number = lanes.iter().position(free).unwrap_or(lanes.len());
        if number == lanes.len() {
            lanes.push(Vec::new());
        }
        lanes[number].push((low, high));
        arrow.lane = number as f64;
    }
    lanes.len()
}

/// Nodes in reverse postorder from the entry, then those that nothing leads to.
fn order(drawing: &Drawing) -> Vec<usize> {
    let count = drawing.boxes.len();
    let (mut seen, mut done) = (vec![false; count], Vec::new());
    for root in 0..count {
        let mut open = vec![(root, false)];
        while let Some((node, leaving)) = open.pop() {
            if leaving {
                done.push(node);
            } else if !std::mem::replace(&mut seen[node], true) {
                open.push((node, true));
                let next = drawing.arrows.iter().filter(|edge| edge.from == node && edge.to < count);
                open.extend(next.filter(|edge| !seen[edge.to]).map(|edge| (edge.to, false)));
            }
        }
    }
    done.reverse();
    // Roots that are not reached from the entry come first in this order: the entry leads.
    let entry = done.iter().position(|node| *node == 0).unwrap_or(0);
    done.rotate_left(entry);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn boxes_stand_below_each_other_and_loops_go_back_on_the_left() {
        let drawing = example(&[(0, 2), (2, 2), (2, 1)], 3);
        let placed = layout(&drawing, 0.0);
        assert_eq!(order(&drawing), [0, 2, 1]);
        let ends = |node: usize| placed.boxes[node].top + placed.boxes[node].height;
        assert!(ends(0) < placed.boxes[2].top && ends(2) < placed.boxes[1].top);
        assert!(placed.arrows[1].lane < placed.left && !placed.arrows[1].downwards);
        assert!(placed.arrows[0].lane > placed.left + placed.box_width);
    }

    #[test]
    fn arrows_that_overlap_have_lanes_of_their_own() {
        let drawing = example(&[(0, 1), (1, 2), (0, 2), (0, 2)], 3);
        let placed = layout(&drawing, 0.0);
        let lanes: Vec<f64> = placed.arrows.iter().map(|arrow| arrow.lane).collect();
        assert!(lanes[2] != lanes[3] && lanes[0] != lanes[2] && lanes[1] != lanes[2]);
        assert_eq!(lanes[0], lanes[1], "one ends where the other begins");
    }
}
