//! SVG, written by hand: boxes, text and arrows need no library.

use std::fmt::Write;

use crate::Drawing;
use crate::layout::{LETTER, LINE, Layout, MARGIN, layout};

/// Drawings, one below the other.
pub fn svg(drawings: &[Drawing]) -> String {
    let mut body = String::new();
    let (mut y, mut width) = (MARGIN, 0.0f64);
    for drawing in drawings {
        let placed = layout(drawing, y + 2.0 * LINE);
        let _ = writeln!(
            body,
            r#"<text class="title" x="{:.0}" y="{:.0}">{}</text>"#,
            placed.left,
            y + LINE,
            escaped(&drawing.title)
        );
        width =
            width.max(placed.width).max(placed.left + LETTER * 1.1 * drawing.title.chars().count() as f64);
        draw(drawing, &placed, &mut body);
        y = placed.height + 3.0 * LINE;
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width:.0}" height="{y:.0}" viewBox="0 0 {width:.0} {y:.0}">
<style>
text {{ font: 12px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1c2733; white-space: pre; }}
.title {{ font-weight: bold; font-size: 13px; }}
.head {{ font-weight: bold; }}
.edge {{ fill: #4a5b6c; }}
.box {{ fill: #f7f9fb; stroke: #9fb0c0; }}
.bar {{ fill: #dfe9f3; stroke: #9fb0c0; }}
.arrow {{ fill: none; stroke: #35608f; stroke-width: 1.4; marker-end: url(#tip); }}
.back {{ stroke: #a8571f; }}
.strong {{ font-weight: bold; fill: #9c1c1c; }}
.path {{ fill: #f3d9b8; }}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#35608f"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
{body}</svg>
"##
    )
}

fn draw(drawing: &Drawing, placed: &Layout, body: &mut String) {
    let (left, width) = (placed.left, placed.box_width);
    for (node, at) in drawing.boxes.iter().zip(&placed.boxes) {
        let mut rectangle = |class: &str, height: f64| {
            let _ = writeln!(
                body,
                r#"<rect class="{class}" x="{left:.1}" y="{:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#,
                at.top
            );
        };
        rectangle("box", at.height);
        rectangle(if node.strong { "bar path" } else { "bar" }, LINE + MARGIN);
        for (number, line) in node.lines.iter().enumerate() {
            let class = match (number, line.strong) {
                (0, _) => "head",
                (_, true) => "strong",
                (_, false) => "",
            };
            let rise = if number == 0 { MARGIN / 2.0 } else { 0.0 };
            text(body, class, left, at.top + MARGIN - rise + LINE * number as f64, &line.text);
        }
        let _ = writeln!(
            body,
            r##"<path d="M{left:.1},{y:.1} h{width:.1}" stroke="#cdd8e2"/>"##,
            y = at.edges_top - 2.0
        );
    }
    for (edge, route) in drawing.arrows.iter().zip(&placed.arrows) {
        for (number, line) in edge.lines.iter().enumerate() {
            text(body, "edge", left, route.text_top + LINE * number as f64, line);
        }
        let (side, class) = if route.downwards { (left + width, "arrow") } else { (left, "arrow back") };
        let _ = writeln!(
            body,
            r#"<path class="{class}" d="M{side:.1},{:.1} H{:.1} V{:.1} H{side:.1}"/>"#,
            route.from, route.lane, route.to
        );
    }
}

fn text(body: &mut String, class: &str, left: f64, top: f64, line: &str) {
    let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
    let _ = writeln!(
        body,
        r#"<text{class} x="{:.1}" y="{:.1}">{}</text>"#,
        left + MARGIN,
        top + 0.75 * LINE,
        escaped(line)
    );
}

/// Text that means itself in SVG and HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Line, example};

    #[test]
    fn what_is_strong_is_drawn_so() {
        let mut drawing = example(&[(0, 1), (1, 1)], 2);
        drawing.boxes[1].strong = true;
        drawing.boxes[1].lines.push(Line { text: "look".to_owned(), strong: true });
        let picture = svg(std::slice::from_ref(&drawing));
        assert_eq!(picture.matches("class=\"bar path\"").count(), 1);
        assert_eq!(picture.matches("class=\"strong\"").count(), 1);
        let text = crate::dot(&[drawing]);
        assert!(text.contains("n0_1 [penwidth=3, label=\"node 1\\l==> look\\l\"]"), "{text}");
    }
}
