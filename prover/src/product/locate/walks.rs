//! Both programs run on from a node to positions, and what may be used there.

use super::super::assumed::Assumed;
use super::super::flow::Anchors;
use super::super::nan_order;
use super::super::triple::{Context, Outcome, Shown, Triple};
use super::super::walk::{Walk, Walker, implies};
use super::examples::Goal;
use super::positions::{EdgePositions, Element};
use super::{At, LocateError, Locator};
use crate::expr::{Arena, ExprId};
use crate::graph::{Graph, PointId};
use metaloc_proof as proof;
use metaloc_proof::Paths;

/// A walk of one program along elements.
pub(super) struct Way<'a> {
    /// With peeks.
    fine: Walker<'a>,
    /// Without them: what is between two points is walked in the graph that the proof speaks of.
    plain: Walker<'a>,
    coarse: &'a Graph,
}

impl<'a> Way<'a> {
    /// `name` is used for nothing else in the arena.
    pub(super) fn new((graph, coarse, anchors): (&'a Graph, &'a Graph, &'a Anchors), name: &str) -> Way<'a> {
        let fine = Walker::new(graph, anchors, name);
        Way { fine, plain: Walker::new(coarse, anchors, &format!("{name}.h")), coarse }
    }

    pub(super) fn start(&self, arena: &mut Arena) -> Walk {
        self.fine.start(arena)
    }

    /// Goes on along elements.
    pub(super) fn on(&mut self, arena: &mut Arena, mut walk: Walk, elements: &[Element]) -> Walk {
        for element in elements {
            walk = match &element.paths {
                Paths::Step(from, to) => {
                    let step =
                        self.coarse.edges.iter().position(|edge| edge.from.0 == *from && edge.to.0 == *to);
                    let edges: Vec<usize> = step.into_iter().collect();
                    self.fine.along(arena, walk, &edges)
                }
                _ => self.plain.hop(arena, walk, PointId(element.from), PointId(element.to)),
            };
        }
        walk
    }

    /// Goes on into an element, to a point inside of it, and to a peek from there.
    pub(super) fn enter(
        &mut self,
        arena: &mut Arena,
        mut walk: Walk,
        inside: Option<(u32, u32)>,
        peek: Option<usize>,
    ) -> Walk {
        if let Some((from, to)) = inside {
            walk = self.plain.hop(arena, walk, PointId(from), PointId(to));
        }
        match peek {
            Some(peek) => self.fine.along(arena, walk, &[peek]),
            None => walk,
        }
    }
}

impl Locator {
    pub(super) fn context(&mut self) -> (Context<'_>, &mut Vec<EdgePositions>, &proof::Function) {
        let context = Context {
            arena: &mut self.arena,
            solver: &mut self.solver,
            normaliser: std::mem::take(&mut self.normaliser),
            setting: &self.setting,
            table: std::mem::take(&mut self.table),
            facts: self.facts.clone(),
            walks: self.walks,
            looks_ahead: false,
        };
        (context, &mut self.edges, &self.function)
    }

    pub(super) fn walk_machine(&mut self, edge: usize, machine: usize) -> Walk {
        let position = &self.edges[edge].machine[machine];
        self.walk_machine_to(edge, (position.elements, position.inside, position.peek))
    }

    /// The machine at the end of an edge.
    pub(super) fn walk_machine_end(&mut self, edge: usize) -> Walk {
        self.walk_machine_to(edge, (self.edges[edge].machine_elements.len(), None, None))
    }

    fn walk_machine_to(
        &mut self,
        edge: usize,
        (elements, inside, peek): (usize, Option<u32>, Option<usize>),
    ) -> Walk {
        self.walks += 1;
        let name = format!("locate.m{}", self.walks);
        let whole = &self.edges[edge].machine_elements;
        let program = (&self.machine, &self.setting.problem.machine, &self.setting.machine_anchors);
        let mut way = Way::new(program, &name);
        let walk = way.start(&mut self.arena);
        let walk = way.on(&mut self.arena, walk, &whole[..elements]);
        way.enter(&mut self.arena, walk, inside.map(|inside| (whole[elements].from, inside)), peek)
    }

    pub(super) fn walk_source(&mut self, edge: usize, source: usize) -> Walk {
        if let Some(known) = self.edges[edge].source_walks.get(&source) {
            return known.clone();
        }
        let (elements, peek) = {
            let position = &self.edges[edge].source[source];
            (position.elements, position.peek)
        };
        // The nearest whole step that was walked before.
        let base = self.edges[edge]
            .source_walks
            .iter()
            .rev()
            .map(|(number, walk)| (&self.edges[edge].source[*number], walk))
            .find(|(position, _)| position.peek.is_none() && position.elements <= elements)
            .map(|(position, walk)| (position.elements, walk.clone()));
        self.walks += 1;
        let name = format!("locate.s{}", self.walks);
        let program = (&self.source, &self.setting.problem.source, &self.setting.source_anchors);
        let mut way = Way::new(program, &name);
        let (done, walk) = base.unwrap_or_else(|| (0, way.start(&mut self.arena)));
        let walk = way.on(&mut self.arena, walk, &self.edges[edge].elements[done..elements]);
        let mut walk = way.enter(&mut self.arena, walk, None, peek);
        if self.setting.commutes && chosen(&self.function) {
            nan_order::forget_order(&mut self.arena, &mut walk);
        }
        self.edges[edge].source_walks.insert(source, walk.clone());
        walk
    }

    /// Both programs run to a place, with what may be used there.
    pub(super) fn triple(&mut self, at: At) -> Result<Triple, LocateError> {
        let assumed = self.assumed(self.edges[at.edge].node)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let source = self.walk_source(at.edge, at.source);
        let mut given = assumed.bits.clone();
        given.extend(&self.facts);
        given.push(machine.condition);
        let arena = &mut self.arena;
        let defined = source
            .assumptions
            .iter()
            .map(|assumption| implies(arena, assumption.when, assumption.what.condition))
            .collect();
        Ok(Triple {
            machine,
            source,
            assumed,
            given,
            ahead: Vec::new(),
            defined,
            lemmas: false,
            cases: false,
        })
    }

    /// Rewriting for guesses: with what the solver shows of the whole edge.
    pub(super) fn guessing(&mut self, edge: usize) -> Result<Assumed, LocateError> {
        if let Some(known) = self.edges[edge].guessing.take() {
            return Ok(known);
        }
        let last = At {
            edge,
            machine: self.edges[edge].machine.len() - 1,
            source: self.edges[edge].source.len() - 1,
        };
        let mut triple = self.triple(last)?;
        let given = triple.given.clone();
        let mut roots: Vec<ExprId> =
            triple.source.accesses.iter().map(|access| access.what.address).collect();
        roots.extend(triple.machine.accesses.iter().map(|access| access.what.address));
        let (mut context, _, _) = self.context();
        let found =
            context.add_constants(&format!("locate edge {edge}"), &mut triple, &given, &roots).and_then(
                |()| context.add_lemmas(&format!("locate edge {edge}"), &mut triple, &given, &roots, &[]),
            );
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        found?;
        Ok(triple.assumed)
    }

    /// Whether a bit follows at a place of an edge; how it was shown, and whether that took that the source is defined.
    pub(super) fn implied(
        &mut self,
        (edge, name): (usize, &str),
        triple: &mut Triple,
        goal: ExprId,
    ) -> Result<Option<(Shown, bool)>, LocateError> {
        let form = triple.assumed.rewrite(&mut self.arena, &mut self.normaliser, goal);
        let is_plain = self.arena.as_constant(form).is_some_and(|bits| bits.is_set());
        if !is_plain && self.is_refuted(edge, triple, Goal::Bit(goal))? {
            return Ok(None);
        }
        let given = triple.given.clone();
        let (mut context, _, _) = self.context();
        let outcome = context.implied_if_defined(name, triple, &given, goal);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        Ok(match outcome? {
            (Outcome::Holds(shown), defined) => Some((shown, defined)),
            (Outcome::Fails(model), _) => {
                self.keep_example(edge, model);
                None
            }
            (Outcome::Open(_), _) => None,
        })
    }
}

/// Whether the source of a proof chose which of two NaNs a sum is made of.
fn chosen(function: &proof::Function) -> bool {
    function.obligations.iter().any(|obligation| {
        let rewrites = match &obligation.discharge {
            proof::Discharge::Normaliser { rewrites, .. } | proof::Discharge::Solver { rewrites, .. } => {
                rewrites
            }
            proof::Discharge::Assertion { .. } => return false,
        };
        rewrites.iter().any(|name| name == nan_order::CHOSEN)
    })
}
