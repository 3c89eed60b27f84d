//! A certified product as a function of `metaloc.proof/1`.

use super::certify::{Certified, proof_region};
use super::columns::{Column, Columns, ELEMENT_BYTES, Place};
use super::events::Calls;
use super::flow::{self, Anchors};
use super::folds::{Fold, Operation, Part};
use super::node::{Bound, Invariant, Node, Operand};
use super::problem::Setting;
use super::search::{Edge, Product};
use super::triple::Shown;
use crate::affine::Relation;
use crate::expr::{Arena, CompareOp, ExprId, Node as Expr};
use crate::graph::{Graph, Point, PointId};
use crate::object_file::FunctionCode;
use crate::source::{self, SourceFunction};
use metaloc_proof as proof;
use metaloc_proof::{Extend, PathSet, Paths, Predicate, Sum, SumTerm, Term, Word};
use sha2::{Digest, Sha256};

/// Lower-case hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a document says beside the product.
pub struct Described<'a> {
    /// The function of the source.
    pub source: &'a SourceFunction,
    /// Its code.
    pub code: &'a FunctionCode,
    /// Name and version of the solver.
    pub solver: (String, String),
    /// Names of rewrites used.
    pub rewrites: Vec<String>,
}

/// The function as the proof has it; nothing if something in it has no words there.
pub fn function(
    arena: &mut Arena,
    setting: &Setting,
    product: &Product,
    certified: &[Certified],
    described: &Described,
) -> Option<proof::Function> {
    let mut values = Values::default();
    let mut nodes = Vec::new();
    for (number, node) in product.nodes.iter().enumerate() {
        nodes.push(proof_node(arena, setting, &mut values, number, node)?);
    }
    let edges = product
        .edges
        .iter()
        .enumerate()
        .map(|(number, edge)| proof_edge(setting, product, number, edge))
        .collect::<Option<Vec<_>>>()?;
    let mut source_points = source_points(arena, setting, described.source, &mut values);
    let mut assumptions: Vec<proof::Assumption> = Vec::new();
    let mut obligations = Vec::new();
    for (number, part) in certified.iter().enumerate() {
        let used = numbered(&part.assumptions, &mut assumptions, &mut source_points)?;
        obligations.push(obligation(number, part, used, (&described.solver, &described.rewrites)));
    }
    let code = described.code;
    let machine_point = |(number, point): (usize, &Point)| {
        let place = match point {
            Point::Pc(pc) => proof::MachinePlace::Instruction { pc: *pc },
            Point::Exit => proof::MachinePlace::Exit,
            Point::Ir { .. } => return None,
        };
        Some(proof::MachinePoint { id: number as u32, place })
    };
    Some(proof::Function {
        name: code.name.clone(),
        machine: proof::MachineCode {
            symbol: code.name.clone(),
            section: code.section.clone(),
            low_pc: code.low_pc,
            high_pc: code.low_pc + code.bytes.len() as u64,
            sha256: sha256(&code.bytes),
        },
        returns_bits: described.source.returns_bits,
        globals: Some(setting.problem.globals.iter().map(|global| global.symbol.clone()).collect()),
        values: values.table(arena),
        variables: variables(described.source),
        source_points,
        machine_points: setting
            .problem
            .machine
            .points
            .iter()
            .enumerate()
            .map(machine_point)
            .collect::<Option<_>>()?,
        nodes,
        edges,
        assumptions,
        locations: Vec::new(),
        obligations,
    })
}

/// Numbers of assumptions; those that are not in the tables yet are added.
pub(super) fn numbered(
    used: &[crate::graph::Assumption],
    assumptions: &mut Vec<proof::Assumption>,
    source_points: &mut Vec<proof::SourcePoint>,
) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for assumption in used {
        let source_point = point_number(source_points, &assumption.at)?;
        let kind = assumption.kind;
        let known =
            assumptions.iter().position(|known| known.kind == kind && known.source_point == source_point);
        let id = known.unwrap_or_else(|| {
            let id = assumptions.len();
            assumptions.push(proof::Assumption { id: id as u32, kind, source_point });
            id
        });
        numbers.push(id as u32);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// IR values in the order in which they are first named.
#[derive(Default)]
struct Values(Vec<ExprId>);

impl Values {
    fn number(&mut self, variable: ExprId) -> u32 {
        let known = self.0.iter().position(|known| *known == variable);
        known.unwrap_or_else(|| {
            self.0.push(variable);
            self.0.len() - 1
        }) as u32
    }

    fn table(&self, arena: &Arena) -> Vec<proof::Value> {
        let value = |(number, variable): (usize, &ExprId)| {
            let name = match arena.node(*variable) {
                Expr::Variable(symbol) => arena.name(*symbol).to_owned(),
                _ => String::new(),
            };
            proof::Value { id: number as u32, name, width_bits: arena.width_bits(*variable) }
        };
        self.0.iter().enumerate().map(value).collect()
    }
}

fn variables(source: &SourceFunction) -> Vec<proof::Variable> {
    let variable = |(number, variable): (usize, &crate::ir::SourceVariable)| proof::Variable {
        id: number as u32,
        name: variable.name.clone(),
        declared: variable.declared.clone(),
        width_bits: variable.width_bits,
        signed: variable.signed,
    };
    source.variables.iter().enumerate().map(variable).collect()
}

fn source_points(
    arena: &Arena,
    setting: &Setting,
    source: &SourceFunction,
    values: &mut Values,
) -> Vec<proof::SourcePoint> {
    let mut points = Vec::new();
    for (number, point) in setting.problem.source.points.iter().enumerate() {
        let info = source.points.get(number).cloned().unwrap_or_default();
        let mut bindings = Vec::new();
        for (variable, bound) in info.bindings {
            let is = match bound {
                source::Bound::Value(value)
                    if arena.width_bits(value) == source.variables[variable].width_bits =>
                {
                    proof::BindingValue::Value { value: values.number(value) }
                }
                source::Bound::Constant(bits) => proof::BindingValue::Constant { word: Word(bits.value()) },
                source::Bound::Undefined => proof::BindingValue::Undefined,
                source::Bound::Value(_) => continue,
            };
            bindings.push(proof::Binding { variable: variable as u32, is });
        }
        points.push(proof::SourcePoint {
            id: number as u32,
            place: source_place(point),
            location: info.location,
            variables: bindings,
        });
    }
    points
}

pub(super) fn source_place(point: &Point) -> proof::SourcePlace {
    match point {
        Point::Ir { block, instruction } => {
            proof::SourcePlace::Instruction { block: block.clone(), instruction: *instruction }
        }
        _ => proof::SourcePlace::Exit,
    }
}

/// The number of a place of the source; an instruction inside of an edge gets one.
fn point_number(points: &mut Vec<proof::SourcePoint>, point: &Point) -> Option<u32> {
    let place = source_place(point);
    if let Some(known) = points.iter().find(|known| known.place == place) {
        return Some(known.id);
    }
    let id = u32::try_from(points.len()).ok()?;
    points.push(proof::SourcePoint { id, place, location: None, variables: Vec::new() });
    Some(id)
}

fn proof_node(
    arena: &mut Arena,
    setting: &Setting,
    values: &mut Values,
    number: usize,
    node: &Node,
) -> Option<proof::Node> {
    let role = if number == 0 {
        proof::NodeRole::Entry
    } else if setting.machine_anchors.is_exit(node.machine) {
        proof::NodeRole::Exit
    } else {
        proof::NodeRole::Inner
    };
    let mut invariants = Vec::new();
    for invariant in node.invariants(arena)? {
        invariants.push(match invariant {
            Invariant::Zero { relation, wide, .. } => {
                Predicate::Zero { sum: sum(values, &relation, wide, &node.columns) }
            }
            Invariant::Bound(bound) => compare(arena, values, &bound),
            Invariant::Equal(region) => {
                Predicate::MemoryEqual { region: proof_region(&region), except: Vec::new() }
            }
        });
    }
    Some(proof::Node {
        id: number as u32,
        role,
        source_point: node.source.0,
        machine_point: node.machine.0,
        invariants,
    })
}

fn sum(values: &mut Values, relation: &Relation, wide: bool, columns: &Columns) -> Sum {
    let (columns, width_bits) = if wide { (&columns.wide, 64) } else { (&columns.narrow, 32) };
    let named = relation.coefficients.iter().zip(columns).filter(|(factor, _)| **factor != 0);
    let terms = named.map(|(factor, column)| term(values, *factor, column, width_bits)).collect();
    Sum { width_bits, terms, constant: Word(relation.constant) }
}

fn term(values: &mut Values, factor: u128, column: &Column, width_bits: u32) -> SumTerm {
    let register = |name: &str, low_bit, width_bits| proof::Place::Register {
        name: name.to_owned(),
        low_bit,
        width_bits,
    };
    let (term, extend) = match &column.place {
        Place::Register(name) => (Term::Machine { place: register(name, 0, width_bits) }, Extend::None),
        Place::Word { register: name, lane } => {
            (Term::Machine { place: register(name, 32 * lane, 32) }, Extend::None)
        }
        Place::Half { register: name, half } => {
            (Term::Machine { place: register(name, 64 * half, 64) }, Extend::None)
        }
        Place::Slot(offset) => {
            let place = proof::Place::StackSlot { offset_bytes: *offset, width_bits };
            (Term::Machine { place }, Extend::None)
        }
        Place::Entry(name) => (Term::Entry { place: register(name, 0, width_bits) }, Extend::None),
        Place::EntryReturn => {
            let place = proof::Place::StackSlot { offset_bytes: 0, width_bits };
            (Term::Entry { place }, Extend::None)
        }
        Place::Address(symbol) => (Term::Address { symbol: symbol.clone() }, Extend::None),
        Place::Value(value) => (Term::Value { value: values.number(*value) }, Extend::None),
        Place::ZeroExtended(value) => (Term::Value { value: values.number(*value) }, Extend::Zero),
        Place::SignExtended(value) => (Term::Value { value: values.number(*value) }, Extend::Sign),
        Place::Element(element) => (
            Term::Element {
                side: proof::Side::Source,
                symbol: element.symbol.clone(),
                value: values.number(element.value),
                stride_bytes: u64::from(ELEMENT_BYTES),
                row: element.row.as_ref().map(|row| proof::RowIndex {
                    value: values.number(row.value),
                    stride_bytes: row.stride_bytes,
                }),
                offset_bytes: element.offset,
                width_bits,
            },
            Extend::None,
        ),
        Place::Fold(fold) => (folded(values, fold), Extend::None),
        Place::Global(symbol, offset) => (
            Term::Global {
                side: proof::Side::Source,
                symbol: symbol.clone(),
                offset_bytes: *offset,
                width_bits,
            },
            Extend::None,
        ),
    };
    SumTerm { coefficient: Word(factor), term, extend }
}

fn folded(values: &mut Values, fold: &Fold) -> Term {
    let part = |part: &Part| match part {
        Part::Value(value) => Term::Value { value: values.number(*value) },
        Part::Lane(name, lane) => {
            let name = name.clone();
            Term::Machine { place: proof::Place::Register { name, low_bit: 32 * lane, width_bits: 32 } }
        }
    };
    let of = fold.of.iter().map(part).collect();
    let operation = match fold.operation {
        Operation::Product => proof::Operation::Product,
        Operation::Greatest => proof::Operation::Greatest,
        Operation::Least => proof::Operation::Least,
    };
    Term::Fold { operation, of, width_bits: fold.width_bits }
}

fn compare(arena: &Arena, values: &mut Values, bound: &Bound) -> Predicate {
    let mut sum = |columns: &[(u128, &Column)], constant: u128| {
        let width_bits = arena.width_bits(columns[0].1.value);
        let terms = columns.iter().map(|(factor, column)| term(values, *factor, column, width_bits));
        Sum { width_bits, terms: terms.collect(), constant: Word(constant) }
    };
    let mut side = |operand: &Operand| match operand {
        Operand::Constant(bits) => {
            Sum { width_bits: bits.width_bits(), terms: Vec::new(), constant: Word(bits.value()) }
        }
        Operand::Column(column) => sum(&[(1, column)], 0),
        Operand::Sum(constant, terms) => {
            let terms: Vec<_> = terms.iter().map(|(factor, column)| (factor.value(), column)).collect();
            sum(&terms, constant.value())
        }
    };
    let relation = match (bound.relation, bound.or_equal) {
        (CompareOp::Slt, false) => proof::Relation::Slt,
        (CompareOp::Slt, true) => proof::Relation::Sle,
        (_, false) => proof::Relation::Ult,
        (_, true) => proof::Relation::Ule,
    };
    Predicate::Compare { relation, left: side(&bound.left), right: side(&bound.right) }
}

fn proof_edge(setting: &Setting, product: &Product, number: usize, edge: &Edge) -> Option<proof::Edge> {
    let taken = &edge.step.machine;
    let machine = match taken.edges.as_slice() {
        [] => {
            let from = product.nodes[edge.from].machine;
            hop(&setting.problem.machine, &setting.machine_anchors, from, taken.to)?
        }
        edges => steps(&setting.problem.machine, edges),
    };
    let node = &product.nodes[edge.from];
    let calls = match setting.calls((node.source, node.machine), &edge.step) {
        Calls::None => false,
        Calls::One(..) => true,
        Calls::Mixed => return None,
    };
    let mut hops = Vec::new();
    let mut from = product.nodes[edge.from].source;
    for to in &edge.step.source {
        hops.push(hop(&setting.problem.source, &setting.source_anchors, from, *to)?);
        from = *to;
    }
    Some(proof::Edge {
        id: number as u32,
        from: edge.from as u32,
        to: edge.to as u32,
        source: path_set(series(repeated(hops))),
        machine: path_set(machine),
        calls,
    })
}

/// Edges one after the other.
fn steps(graph: &Graph, edges: &[usize]) -> Paths {
    let step = |number: &usize| Paths::Step(graph.edges[*number].from.0, graph.edges[*number].to.0);
    series(edges.iter().map(step).collect())
}

/// Paths between two anchors that a document lists.
const MOST_PATHS: usize = 4096;

/// All paths from one anchor to the next.
fn hop(graph: &Graph, anchors: &Anchors, from: PointId, to: PointId) -> Option<Paths> {
    let all = flow::paths(graph, anchors, from, MOST_PATHS)?;
    let mut branches: Vec<Paths> =
        all.iter().filter(|path| path.to == to).map(|path| steps(graph, &path.edges)).collect();
    let mut seen = std::collections::HashSet::new();
    branches.retain(|branch| seen.insert(branch.clone()));
    if branches.len() == 1 { branches.pop() } else { Some(Paths::Parallel(branches)) }
}

pub(super) fn series(mut parts: Vec<Paths>) -> Paths {
    match parts.len() {
        0 => Paths::Empty,
        1 => parts.remove(0),
        _ => Paths::Series(parts),
    }
}

/// The same closed part several times in a row is said once.
pub(super) fn repeated(parts: Vec<Paths>) -> Vec<Paths> {
    let mut shorter: Vec<(Paths, u32)> = Vec::new();
    for part in parts {
        match shorter.last_mut() {
            Some((last, times)) if *last == part => *times += 1,
            _ => shorter.push((part, 1)),
        }
    }
    let said = |(part, times): (Paths, u32)| match times {
        1 => part,
        times => Paths::Repeat { times, body: Box::new(part) },
    };
    shorter.into_iter().map(said).collect()
}

pub(super) fn path_set(paths: Paths) -> PathSet {
    let last = paths.ends().ok().flatten().map(|(_, last)| last);
    let visits = paths.visits();
    let delta = last.and_then(|last| visits.get(&last)).map_or(0, |(_, most)| *most);
    let mu = visits.values().map(|(_, most)| *most).max().unwrap_or(1);
    PathSet { mu: mu as u32, delta: delta as u32, paths }
}

pub(super) fn obligation(
    number: usize,
    part: &Certified,
    assumptions: Vec<u32>,
    (solver, rewrites): (&(String, String), &[String]),
) -> proof::Obligation {
    let query = proof::Query {
        name: format!("q{number}"),
        sha256: sha256(part.script.as_bytes()),
        smt2: Some(part.script.clone()),
    };
    let rewrites = rewrites.to_vec();
    let discharge = match part.shown {
        Shown::Rewriting => proof::Discharge::Normaliser { query, rewrites },
        Shown::Solver => {
            let (solver, version) = solver.clone();
            proof::Discharge::Solver { query, solver, version, rewrites }
        }
    };
    let (index, of) = part.part;
    proof::Obligation {
        id: number as u32,
        claim: part.claim.clone(),
        part: proof::Part { index, of },
        assumptions,
        discharge,
    }
}
