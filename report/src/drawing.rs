//! A control-flow graph as text: one line per instruction, edges in the margin.
//!
//! Blocks stand in the order of the graph. An edge leaves at the last line of its block (`<`) and arrives at the
//! first line of another (`>`); each has a lane of its own between the two, and lanes are used again where they
//! do not overlap.

use std::borrow::Cow;
use std::collections::BTreeSet;

use metaloc_picture::{Arrow, Box, Drawing, Line};

use crate::kept_run::{Graph, GraphBlock, GraphInst, Spot};

/// What to point at in a graph.
#[derive(Debug, Clone, Default)]
pub struct Highlights {
    /// Blocks on a path, in its order: their lines have a `|` before them.
    pub path: Vec<usize>,
    /// Instructions, each with what to say about it.
    pub spots: Vec<(Spot, String)>,
}

/// More lanes than this are no drawing any more: then every block names its successors.
const LANES: usize = 16;

/// Longer instructions are cut.
const WIDTH: usize = 88;

/// Draws a graph.
pub fn draw(graph: &Graph, highlights: &Highlights) -> String {
    let mut lines = Vec::new();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let width = graph.spots().map(|(_, inst)| inst.text.chars().count()).max().unwrap_or(0).min(WIDTH);
    for (place, block) in graph.blocks.iter().enumerate() {
        let on_path = if highlights.path.contains(&place) { '|' } else { ' ' };
        first.push(lines.len());
        lines.push(format!("{on_path} {}:", block.name));
        for (instruction, inst) in block.instructions.iter().enumerate() {
            let spot = Spot { block: place, instruction };
            let said = highlights.spots.iter().filter(|(at, _)| *at == spot).map(|(_, said)| said.as_str());
            let said: Vec<&str> = said.collect();
            let location = inst.location.as_deref().map_or("-", short);
            let mark = if said.is_empty() { String::new() } else { format!("  <== {}", said.join(", ")) };
            lines.push(format!("{on_path}   {:width$}  {location}{mark}", cut(&inst.text)));
        }
        last.push(lines.len() - 1);
    }
    let edges: BTreeSet<(usize, usize)> = graph
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(from, block)| block.successors.iter().map(move |&to| (from, to)))
        .filter(|&(_, to)| to < graph.blocks.len())
        .map(|(from, to)| (last[from], first[to]))
        .collect();
    let margins = margins(lines.len(), &edges.into_iter().collect::<Vec<_>>());
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        text += margins.as_ref().map_or("", |margins| &margins[number]);
        text += line;
        if let (None, Some(block)) = (&margins, last.iter().position(|&at| at == number)) {
            let names: Vec<&str> =
                graph.blocks[block].successors.iter().map(|&to| graph.blocks[to].name.as_str()).collect();
            text += &format!("  -> {}", names.join(", "));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The margin of each line; `None` if too many edges run beside each other.
fn margins(lines: usize, edges: &[(usize, usize)]) -> Option<Vec<String>> {
    // Short edges inside, long ones outside.
    let mut edges = edges.to_vec();
    edges.sort_by_key(|&(from, to)| (from.abs_diff(to), from, to));
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut placed = Vec::new();
    for (from, to) in edges {
        let span = (from.min(to), from.max(to));
        let free = |lane: &Vec<(usize, usize)>| lane.iter().all(|&(low, high)| span.1 < low || high < span.0);
        let lane = lanes.iter().position(free).unwrap_or_else(|| {
            lanes.push(Vec::new());
            lanes.len() - 1
        });
        lanes[lane].push(span);
        placed.push((from, to, lane));
    }
    if lanes.len() > LANES {
        return None;
    }
    // Lane 0 is next to the text; two characters each, and one for the arrow.
    let width = lanes.len() * 2 + 1;
    let mut margins = vec![vec![' '; width]; lines];
    for &(from, to, lane) in &placed {
        let column = width - 3 - 2 * lane;
        for line in margins.iter_mut().take(from.max(to)).skip(from.min(to) + 1) {
            put(&mut line[column], '|');
        }
        for (line, arrow) in [(from, '<'), (to, '>')] {
            let turns = if line == from.min(to) { '.' } else { '\'' };
            put(&mut margins[line][column], if from == to { '+' } else { turns });
            margins[line][column + 1..width - 1].iter_mut().for_each(|place| put(place, '-'));
            let end = &mut margins[line][width - 1];
            *end = if *end == ' ' || *end == arrow { arrow } else { '*' };
        }
    }
    Some(margins.into_iter().map(|line| line.into_iter().chain([' ']).collect()).collect())
}

/// Puts a piece of an edge where another one may be.
fn put(place: &mut char, piece: char) {
    *place = match (*place, piece) {
        (' ', piece) => piece,
        (old, piece) if old == piece => old,
        _ => '+',
    };
}

/// A location with the name of its file, without its folder.
fn short(location: &str) -> &str {
    let end = location.find(' ').unwrap_or(location.len());
    location[..end].rfind('/').map_or(location, |at| &location[at + 1..])
}

/// The graph as a picture: the path's blocks and the instructions to point at are strong.
pub fn picture(title: &str, graph: &Graph, highlights: &Highlights) -> Drawing {
    let boxed = |(place, block): (usize, &GraphBlock)| {
        let line = |(instruction, inst): (usize, &GraphInst)| {
            let spot = Spot { block: place, instruction };
            let location = inst.location.as_deref().map_or("-", short);
            let strong = highlights.spots.iter().any(|(at, _)| *at == spot);
            Line { text: format!("{}  [{location}]", cut(&inst.text)), strong }
        };
        let mut lines = vec![Line::from(format!("{}:", block.name))];
        lines.extend(block.instructions.iter().enumerate().map(line));
        Box { lines, strong: highlights.path.contains(&place) }
    };
    let arrows_of = |(from, block): (usize, &GraphBlock)| {
        let known = block.successors.iter().filter(|&&to| to < graph.blocks.len());
        let arrow = |&to: &usize| Arrow { from, to, lines: vec![format!("to {}", graph.blocks[to].name)] };
        known.map(arrow).collect::<Vec<_>>()
    };
    Drawing {
        title: title.to_owned(),
        boxes: graph.blocks.iter().enumerate().map(boxed).collect(),
        arrows: graph.blocks.iter().enumerate().flat_map(arrows_of).collect(),
    }
}

/// An instruction, the end of a long one left out.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(WIDTH) {
        Some(_) => text.chars().take(WIDTH - 3).chain("...".chars()).collect(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;

    fn highlights() -> Highlights {
        let spots = vec![(Spot { block: 2, instruction: 0 }, "the destination".to_owned())];
        Highlights { path: vec![0, 2], spots }
    }

    #[test]
    fn a_diamond_is_drawn() {
        insta::assert_snapshot!(draw(&example::run().after, &highlights()));
    }

    #[test]
    fn a_loop_goes_back() {
        let mut graph = example::run().before;
        graph.blocks[1].successors = vec![0, 1];
        insta::assert_snapshot!(draw(&graph, &Highlights::default()));
    }

    #[test]
    fn graphviz_gets_its_text() {
        let mut run = example::run();
        run.after.blocks[0].name = "a\"b".to_owned();
        insta::assert_snapshot!(metaloc_picture::dot(&[picture("after", &run.after, &highlights())]));
    }

    #[test]
    fn a_long_instruction_is_cut() {
        let mut graph = example::run().before;
        graph.blocks[2].instructions[0].text = "x".repeat(WIDTH + 1);
        let text = draw(&graph, &Highlights::default());
        assert!(text.lines().last().unwrap().contains(&format!("{}...  -", "x".repeat(WIDTH - 3))), "{text}");
    }

    proptest! {
        #[test]
        fn every_graph_is_drawn_with_one_line_per_instruction(
            successors in proptest::collection::vec(proptest::collection::vec(0..12usize, 0..4), 1..12),
        ) {
            let count = successors.len();
            let block = |(number, to): (usize, Vec<usize>)| GraphBlock {
                name: format!("b{number}"),
                successors: to.into_iter().map(|to| to % count).collect(),
                instructions: example::run().before.blocks[1].instructions.clone(),
            };
            let graph = Graph { blocks: successors.into_iter().enumerate().map(block).collect() };
            prop_assert_eq!(draw(&graph, &Highlights::default()).lines().count(), 3 * count);
        }
    }
}
