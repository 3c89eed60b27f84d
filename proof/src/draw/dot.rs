//! The language of graphviz, for those who want another layout.

use super::Drawing;
use crate::Document;
use std::fmt::Write;

/// All functions of a document as one graph, each in a cluster.
pub fn dot(document: &Document) -> String {
    let mut text = String::from(
        "digraph proof {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  \
         edge [fontname=\"monospace\", fontsize=9];\n",
    );
    for (number, function) in document.functions.iter().enumerate() {
        let drawing = Drawing::of(function);
        let _ = writeln!(text, "  subgraph cluster_{number} {{\n    label=\"{}\";", escaped(&drawing.title));
        for (node, lines) in drawing.nodes.iter().enumerate() {
            let _ = writeln!(text, "    n{number}_{node} [label=\"{}\"];", label(lines));
        }
        for edge in &drawing.edges {
            let (from, to) = (edge.from, edge.to);
            let _ =
                writeln!(text, "    n{number}_{from} -> n{number}_{to} [label=\"{}\"];", label(&edge.lines));
        }
        text.push_str("  }\n");
    }
    text + "}\n"
}

/// Lines, each set to the left.
fn label(lines: &[String]) -> String {
    lines.iter().map(|line| escaped(line) + "\\l").collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
