//! Pictures of proofs: the product graph of each function, with what holds at its nodes.
//!
//! [`words`] has invariants and paths as people write them; `metaloc_picture` does the drawing. A picture shows
//! everything that the document says of nodes and edges, and nothing that it does not say.

mod words;

use metaloc_picture::{Arrow, Box, Drawing, Line};

use crate::{Document, Edge, Function, Node};
use words::{edge_lines, node_lines, title};

/// All functions of a document, one below the other, as SVG.
pub fn svg(document: &Document) -> String {
    metaloc_picture::svg(&drawings(document))
}

/// All functions of a document in the language of graphviz, for those who want another layout.
pub fn dot(document: &Document) -> String {
    metaloc_picture::dot(&drawings(document))
}

fn drawings(document: &Document) -> Vec<Drawing> {
    document.functions.iter().map(drawing).collect()
}

fn drawing(function: &Function) -> Drawing {
    let node = |node: &Node| Box {
        lines: node_lines(function, node).into_iter().map(Line::from).collect(),
        strong: false,
    };
    let arrow = |edge: &Edge| Arrow {
        from: edge.from as usize,
        to: edge.to as usize,
        lines: edge_lines(function, edge),
    };
    Drawing {
        title: title(function),
        boxes: function.nodes.iter().map(node).collect(),
        arrows: function.edges.iter().map(arrow).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_picture::escaped;

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
        let drawing = drawing(function);
        let of_boxes = drawing.boxes.iter().flat_map(|node| &node.lines).map(|line| &line.text);
        for line in of_boxes.chain(drawing.arrows.iter().flat_map(|arrow| &arrow.lines)) {
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
        assert!(dot(&document).contains("<script>&\\\""));
    }
}
