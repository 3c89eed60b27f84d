//! The language of graphviz, for those who want another layout.

use std::fmt::Write;

use crate::Drawing;

/// Drawings as one graph, each in a cluster.
pub fn dot(drawings: &[Drawing]) -> String {
    let mut text = String::from(
        "digraph metaloc {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  \
         edge [fontname=\"monospace\", fontsize=9];\n",
    );
    for (number, drawing) in drawings.iter().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_{number} {{\n    label=\"{}\";", escaped(&drawing.title));
        for (node, boxed) in drawing.boxes.iter().enumerate() {
            let marked = |line: &crate::Line| if line.strong { "==> " } else { "" }.to_owned() + &line.text;
            let lines: Vec<String> = boxed.lines.iter().map(marked).collect();
            let style = if boxed.strong { "penwidth=3, " } else { "" };
            let _ = writeln!(text, "    n{number}_{node} [{style}label=\"{}\"];", label(&lines));
        }
        for edge in &drawing.arrows {
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
