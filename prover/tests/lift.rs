//! Lifted graphs: the shape of s000, and agreement with running the instructions one by one, in the concrete
//! domain that the processor judges.

mod stepping;

use metaloc_prover::bits::Bits;
use metaloc_prover::expr::normal::Normaliser;
use metaloc_prover::expr::{Arena, Assignment, Outcome, Sort, evaluate};
use metaloc_prover::graph::{Edge, Graph, Point, PointId};
use metaloc_prover::lift::{LiftError, lift};
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::region::Region;
use metaloc_prover::x86::state::Flag;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use stepping::{Machine, OBJECTS, PLACES, STACK, read, s000};

#[test]
fn s000_has_its_points_regions_and_step() {
    for (object, loop_pc, exit_pc, step_bytes) in [(OBJECTS[0], 0x10, 0x2f, 16), (OBJECTS[1], 0x20, 0x76, 64)]
    {
        let mut arena = Arena::new();
        let graph = lift(&mut arena, &s000(object)).unwrap();
        assert_eq!(graph.points, [Point::Pc(0), Point::Pc(loop_pc), Point::Pc(exit_pc), Point::Exit]);
        let ends: Vec<(u32, u32)> = graph.edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect();
        assert_eq!(ends, [(0, 1), (1, 1), (1, 2), (2, 3)]);
        assert_eq!(regions(&graph.edges[0]), [(Region::Global("val".into()), false)].into());
        let body = [(Region::Global("X".into()), true), (Region::Global("Y".into()), false)];
        assert_eq!(regions(&graph.edges[1]), body.into());
        assert_eq!(regions(&graph.edges[3]), [(Region::Stack, false)].into());
        let rax = arena.variable("rax", Sort::Bits(64));
        let stepped = graph.edges[1].assignments.iter().find(|(variable, _)| *variable == rax).unwrap().1;
        let step = arena.constant(Bits::new(64, step_bytes));
        let expected = arena.add(rax, step);
        let mut normaliser = Normaliser::new();
        assert_eq!(normaliser.normal(&mut arena, stepped), normaliser.normal(&mut arena, expected));
    }
}

fn regions(edge: &Edge) -> BTreeSet<(Region, bool)> {
    edge.accesses.iter().map(|access| (access.region.clone(), access.write)).collect()
}

/// Bytes of each region that the first turns of the loop can reach.
const REACHED: u64 = 2048;

#[test]
fn graphs_agree_with_single_steps() {
    for object in OBJECTS {
        let function = s000(object);
        let mut arena = Arena::new();
        let graph = lift(&mut arena, &function).unwrap();
        let mut machine = Machine::new(&function);
        let mut point = PointId(0);
        for _ in 0..12 {
            let assignment = assignment(&mut arena, &machine);
            let edge = taken(&arena, &graph, point, &assignment);
            machine.run_to(&graph.points[edge.to.0 as usize]);
            compare(&mut arena, edge, &assignment, &machine);
            point = edge.to;
        }
    }
}

fn bytes(machine: &Machine, from: u64) -> BTreeMap<u128, u8> {
    let end = machine.window.start + machine.window.bytes.len() as u64;
    let reached = machine.memory(from, REACHED.min(end - from) as usize);
    (u128::from(from)..).zip(reached.iter().copied()).collect()
}

fn starts() -> Vec<(Region, u64)> {
    let globals = PLACES.map(|(symbol, place)| (Region::Global(symbol.to_owned()), place));
    globals.into_iter().chain([(Region::Stack, STACK)]).collect()
}

fn assignment(arena: &mut Arena, machine: &Machine) -> Assignment {
    let mut assignment = Assignment::default();
    for flag in Flag::ALL {
        let symbol = arena.symbol(&format!("flag.{flag:?}"), Sort::Bits(1));
        assignment.bits.insert(symbol, machine.state.flag(flag).value);
    }
    for (number, name) in register_names().into_iter().enumerate() {
        let symbol = arena.symbol(name, Sort::Bits(64));
        assignment.bits.insert(symbol, machine.state.general[number]);
        let symbol = arena.symbol(&format!("xmm{number}"), Sort::Bits(128));
        assignment.bits.insert(symbol, machine.state.vector[number]);
    }
    for (name, place) in PLACES {
        let symbol = arena.symbol(&format!("address.{name}"), Sort::Bits(64));
        assignment.bits.insert(symbol, Bits::new(64, u128::from(place)));
    }
    for (region, start) in starts() {
        let symbol = arena.symbol(&region.variable_name(), Sort::Memory(64));
        assignment.memories.insert(symbol, bytes(machine, start));
    }
    assignment
}

fn register_names() -> [&'static str; 16] {
    [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15",
    ]
}

fn taken<'a>(arena: &Arena, graph: &'a Graph, point: PointId, assignment: &Assignment) -> &'a Edge {
    let guard = |edge: &&Edge| evaluate(arena, edge.guard, assignment).bits().is_set();
    let taken: Vec<&Edge> = graph.leaving(point).filter(guard).collect();
    assert_eq!(taken.len(), 1, "exactly one edge is taken");
    taken[0]
}

fn compare(arena: &mut Arena, edge: &Edge, before: &Assignment, machine: &Machine) {
    let after: HashMap<_, _> = edge.assignments.iter().copied().collect();
    for (number, name) in register_names().into_iter().enumerate() {
        let variable = arena.variable(name, Sort::Bits(64));
        let value = evaluate(arena, *after.get(&variable).unwrap_or(&variable), before).bits();
        assert_eq!(value, machine.state.general[number], "{name}");
        let variable = arena.variable(&format!("xmm{number}"), Sort::Bits(128));
        let value = evaluate(arena, *after.get(&variable).unwrap_or(&variable), before).bits();
        assert_eq!(value, machine.state.vector[number], "xmm{number}");
    }
    for (region, start) in starts() {
        let variable = region.variable(arena);
        let value = evaluate(arena, *after.get(&variable).unwrap_or(&variable), before);
        let Outcome::Memory(memory) = value else { panic!("{region:?} is a memory") };
        for (address, byte) in bytes(machine, start) {
            assert_eq!(memory.byte(address), byte, "{region:?} at {address:#x}");
        }
    }
}

fn code(bytes: &[u8]) -> FunctionCode {
    FunctionCode {
        name: "f".into(),
        section: ".text".into(),
        low_pc: 0,
        bytes: bytes.to_vec(),
        address_bits: 64,
        relocations: Vec::new(),
        constants: BTreeMap::new(),
        alignments: BTreeMap::new(),
        pc_thunks: BTreeMap::new(),
        image: None,
        entries: Default::default(),
        locals: Default::default(),
        refused: None,
        definitions: Default::default(),
    }
}

#[test]
fn what_is_not_followed_is_named_with_its_pc() {
    let error = |bytes: &[u8]| lift(&mut Arena::new(), &code(bytes)).unwrap_err().to_string();
    assert_eq!(error(&[0x90, 0xe8, 0, 0, 0, 0, 0xc3]), "unsupported: call of a place without a name at 0x1");
    assert_eq!(error(&[0xff, 0xe0]), "unsupported: indirect jump at 0x0");
    assert_eq!(error(&[0xd9, 0xe8, 0xc3]), "unsupported: fld1 at 0x0");
    assert_eq!(error(&[0x90]), "unsupported: control that leaves the function at 0x1");
    // No red zone in 32-bit code: mov 4(%esp), %eax; mov %eax, -4(%esp); ret.
    let below = code(&[0x8b, 0x44, 0x24, 0x04, 0x89, 0x44, 0x24, 0xfc, 0xc3]);
    let below = FunctionCode { address_bits: 32, ..below };
    let refused = lift(&mut Arena::new(), &below).unwrap_err().to_string();
    assert_eq!(refused, "unsupported: access below what is kept of the stack at 0x4");
    assert_eq!(error(&[0xeb, 0x10]), "unsupported: control that leaves the function at 0x12");
    assert_eq!(error(&[0xf3, 0x48, 0xab, 0xc3]), "unsupported: stosq at 0x0");
    assert_eq!(error(&[0xf0, 0x48, 0x01, 0x07, 0xc3]), "unsupported: add with lock at 0x0");
    assert_eq!(error(&[0x64, 0x48, 0x8b, 0x07, 0xc3]), "unsupported: mov relative to fs or gs at 0x0");
    assert_eq!(error(&[0xeb, 0xff, 0xc0, 0xc3]), "unsupported: jump into an instruction at 0x1");
    assert!(matches!(lift(&mut Arena::new(), &code(&[])), Err(LiftError::Unsupported { .. })));
}

#[test]
fn constant_pools_are_constants() {
    let name = "s317-gcc12-nopic.o";
    let function =
        ObjectFile::parse(name, &read(&format!("objects/{name}"))).unwrap().function("s317").unwrap().clone();
    assert_eq!(function.constants.keys().collect::<Vec<_>>(), [".LC0"]);
    assert_eq!(function.alignments[".LC0"], 16);
    let mut arena = Arena::new();
    let graph = lift(&mut arena, &function).unwrap();
    let accesses: BTreeSet<_> = graph.edges.iter().flat_map(regions).collect();
    assert_eq!(accesses, [(Region::Global("temp".into()), true), (Region::Stack, false)].into());
}

#[test]
fn a_trap_is_a_point_that_no_edge_leaves() {
    // test edi, edi; je +1; ret; ud2
    let graph = lift(&mut Arena::new(), &code(&[0x85, 0xff, 0x74, 0x01, 0xc3, 0x0f, 0x0b])).unwrap();
    let trap = graph.find(&Point::Pc(5)).unwrap();
    assert_eq!((graph.leaving(trap).count(), graph.leaving(PointId(0)).count()), (0, 2));
}

#[test]
fn pointers_of_unknown_origin_merge_all_but_the_frame() {
    // mov eax, [rdi]; push rax; pop rcx; ret
    let mut arena = Arena::new();
    let graph = lift(&mut arena, &code(&[0x8b, 0x07, 0x50, 0x59, 0xc3])).unwrap();
    let regions: Vec<_> = graph.edges[0].accesses.iter().map(|access| access.region.clone()).collect();
    assert_eq!(regions, [Region::Rest, Region::Stack, Region::Stack, Region::Stack]);
}
