//! SVG, written by hand: boxes, text and arrows need no library.

use super::Drawing;
use super::layout::{LETTER, LINE, Layout, MARGIN, layout};
use crate::Document;
use std::fmt::Write;

/// All functions of a document, one below the other.
pub fn svg(document: &Document) -> String {
    let mut body = String::new();
    let (mut y, mut width) = (MARGIN, 0.0f64);
    for function in &document.functions {
        let drawing = Drawing::of(function);
        let placed = layout(&drawing, y + 2.0 * LINE);
        let _ = writeln!(
            body,
            r#"<text class="title" x="{:.0}" y="{:.0}">{}</text>"#,
            placed.left,
            y + LINE,
            escaped(&drawing.title)
        );
        width =
            width.max(placed.width).max(placed.left + LETTER * 1.1 * drawing.title.chars().count() as f64);
        draw(&drawing, &placed, &mut body);
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
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#35608f"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
{body}</svg>
"##
    )
}

fn draw(drawing: &Drawing, placed: &Layout, body: &mut String) {
    let (left, width) = (placed.left, placed.box_width);
    for (lines, at) in drawing.nodes.iter().zip(&placed.boxes) {
        let mut rectangle = |class: &str, height: f64| {
            let _ = writeln!(
                body,
                r#"<rect class="{class}" x="{left:.1}" y="{:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#,
                at.top
            );
        };
        rectangle("box", at.height);
        rectangle("bar", LINE + MARGIN);
        for (number, line) in lines.iter().enumerate() {
            let class = if number == 0 { "head" } else { "" };
            let rise = if number == 0 { MARGIN / 2.0 } else { 0.0 };
            text(body, class, left, at.top + MARGIN - rise + LINE * number as f64, line);
        }
        let _ = writeln!(
            body,
            r##"<path d="M{left:.1},{y:.1} h{width:.1}" stroke="#cdd8e2"/>"##,
            y = at.edges_top - 2.0
        );
    }
    for (edge, route) in drawing.edges.iter().zip(&placed.arrows) {
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

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s000() -> Document {
        let text = include_bytes!("../../../regress/proofs/equal/s000-gcc12-nopic.json");
        crate::Proof::from_json(text).unwrap().into_document()
    }

    #[test]
    fn every_node_edge_and_invariant_is_drawn() {
        let document = s000();
        let (picture, function) = (svg(&document), &document.functions[0]);
        let count = |what: &str| picture.matches(what).count();
        assert_eq!(count("class=\"bar\""), function.nodes.len());
        assert_eq!(count("class=\"arrow"), function.edges.len());
        let drawing = Drawing::of(function);
        for line in drawing.nodes.iter().flatten().chain(drawing.edges.iter().flat_map(|edge| &edge.lines)) {
            assert!(picture.contains(&escaped(line)), "{line}");
        }
        assert_eq!(count("<svg"), 1);
        assert!(picture.ends_with("</svg>\n"));
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let mut document = s000();
        document.functions[0].name = "<script>&\"".to_owned();
        let picture = svg(&document);
        assert!(picture.contains("&lt;script&gt;&amp;&quot;") && !picture.contains("<script>"));
        assert!(crate::draw::dot(&document).contains("<script>&\\\""));
    }
}
