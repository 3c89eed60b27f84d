//! Graphs of IR: shape, regions, variables of the source, and what is refused. Regions of the source are
//! proved by nobody, so each way to lose track of a pointer has its test here.

use super::*;
use crate::expr::normal::Normaliser;
use crate::graph::{Edge, Point};
use crate::region::Region;
use metaloc_proof::AssumptionKind;
use std::collections::BTreeSet;

const HEAD: &str = "target datalayout = \"e-m:e-i64:64-n8:16:32:64-S128\"
%struct.P = type { i8, [3 x i32], i64 }
@a = external global [8 x i32], align 16
@b = external global [8 x i32], align 16
@p = external global ptr, align 8
@q = external global ptr, align 8
@table = internal constant [4 x i32] [i32 3, i32 -1, i32 7, i32 9], align 4
";

fn lowered(function: &str) -> Result<(Arena, SourceFunction), LowerError> {
    let module = Module::parse("t.ll", &format!("{HEAD}{function}")).unwrap();
    let mut arena = Arena::new();
    lower(&mut arena, &module, &module.functions()[0]).map(|source| (arena, source))
}

fn body(parameters: &str, lines: &str) -> Result<(Arena, SourceFunction), LowerError> {
    lowered(&format!("define void @f({parameters}) {{\n{lines}\n}}\n"))
}

fn regions(source: &SourceFunction) -> BTreeSet<(Region, bool)> {
    let accesses = source.graph.edges.iter().flat_map(|edge| &edge.accesses);
    accesses.map(|access| (access.region.clone(), access.write)).collect()
}

fn global(name: &str) -> Region {
    Region::Global(name.into())
}

fn s000() -> (Arena, SourceFunction) {
    let module = Module::parse("s000.ll", include_str!("../../../regress/objects/s000.ll")).unwrap();
    let mut arena = Arena::new();
    let source = lower(&mut arena, &module, module.function("s000").unwrap()).unwrap();
    (arena, source)
}

#[test]
fn s000_has_the_points_steps_and_regions_of_its_text() {
    let (mut arena, source) = s000();
    let places: Vec<String> = source
        .graph
        .points
        .iter()
        .map(|point| match point {
            Point::Ir { block, instruction } => format!("{block}.{instruction}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(places, ["0.0", "1.1", "3.0", "11.0", "13.0", "Exit"]);
    let ends: Vec<(u32, u32)> = source.graph.edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect();
    assert_eq!(ends, [(0, 1), (1, 2), (1, 4), (2, 3), (3, 1), (4, 5)]);
    assert_eq!(regions(&source), [(global("X"), true), (global("Y"), false), (global("val"), false)].into());
    // The phi node is assigned on the way round: i := i + 1.
    let counter = arena.variable("%.0", crate::expr::Sort::Bits(32));
    let next = value_of(&source.graph.edges[4], counter);
    let one = arena.constant(crate::bits::Bits::new(32, 1));
    let expected = arena.add(counter, one);
    let mut normaliser = Normaliser::new();
    assert_eq!(normaliser.normal(&mut arena, next), normaliser.normal(&mut arena, expected));
}

fn value_of(edge: &Edge, variable: ExprId) -> ExprId {
    edge.assignments.iter().find(|(assigned, _)| *assigned == variable).expect("it is assigned").1
}

#[test]
fn variables_are_bound_where_they_are_in_scope() {
    let (mut arena, source) = s000();
    assert_eq!(source.variables.len(), 1);
    assert_eq!((source.variables[0].name.as_str(), source.variables[0].signed), ("i", true));
    let counter = Bound::Value(arena.variable("%.0", crate::expr::Sort::Bits(32)));
    let zero = Bound::Constant(crate::bits::Bits::new(32, 0));
    let bound: Vec<Option<Bound>> =
        source.points.iter().map(|point| point.bindings.first().map(|(_, bound)| *bound)).collect();
    assert_eq!(bound, [Some(zero), Some(counter), Some(counter), Some(counter), None, None]);
    let lines: Vec<u32> =
        source.points.iter().map(|point| point.location.as_ref().map_or(0, |at| at.line)).collect();
    assert_eq!(lines, [6, 6, 7, 6, 9, 0]);
}

#[test]
fn a_pointer_kept_in_a_global_is_followed_until_something_may_change_it() {
    let follow = |between: &str| {
        let lines = format!(
            "  store ptr getelementptr inbounds ([8 x i32], ptr @b, i64 0, i64 4), ptr @p, align 8\n{between}\n  \
             %x = load ptr, ptr @p, align 8\n  %v = load i32, ptr %x, align 4\n  ret void"
        );
        let (_, source) = body("ptr %any, i64 %i", &lines).unwrap();
        let last = source.graph.edges.last().unwrap().accesses.last().unwrap();
        (last.region.clone(), source.graph.needs_merging())
    };
    let kept = (global("b"), false);
    let lost = (Region::Rest, true);
    assert_eq!(follow(""), kept);
    // Another object is written, by a pointer into it.
    let other = "  %e = getelementptr [8 x i32], ptr @a, i64 0, i64 %i\n  store i32 1, ptr %e, align 4";
    assert_eq!(follow(other), kept);
    assert_eq!(follow("  store ptr @a, ptr @q, align 8"), kept);
    // The pointer itself is.
    assert_eq!(follow("  store i32 1, ptr @p, align 4"), lost);
    assert_eq!(follow("  store ptr %any, ptr @p, align 8"), lost);
    assert_eq!(follow("  %e = getelementptr i8, ptr @p, i64 %i\n  store i8 1, ptr %e, align 1"), lost);
    assert_eq!(follow("  store i32 1, ptr %any, align 4").0, Region::Rest);
    assert_eq!(follow("  call void @unknown()").0, Region::Rest);
    assert_eq!(follow("  call void @llvm.memset.p0.i64(ptr @p, i8 0, i64 8, i1 false)"), lost);
    assert_eq!(follow("  call void @llvm.memset.p0.i64(ptr @a, i8 0, i64 8, i1 false)"), kept);
}

#[test]
fn a_pointer_kept_on_one_way_only_is_lost() {
    let lines = |other: &str| {
        format!(
            "  br i1 %c, label %x, label %y\nx:\n  store ptr @b, ptr @p, align 8\n  br label %z\ny:\n{other}\n  \
             br label %z\nz:\n  %r = load ptr, ptr @p, align 8\n  %v = load i32, ptr %r, align 4\n  ret void"
        )
    };
    let merges = |other: &str| body("i1 %c", &lines(other)).unwrap().1.graph.needs_merging();
    assert!(merges(""));
    assert!(merges("  store ptr @a, ptr @p, align 8"));
    assert!(!merges("  store ptr @b, ptr @p, align 8"));
}

#[test]
fn pointers_that_walk_stay_in_their_object_and_those_that_may_be_two_merge() {
    let walk = |start: &str, other: &str| {
        let lines = format!(
            "entry:\n  br label %l\nl:\n  %r = phi ptr [ {start}, %entry ], [ %n, %l ]\n  store i32 1, ptr %r, align 4\n  \
             %n = getelementptr inbounds i32, ptr {other}, i64 1\n  %c = icmp eq ptr %n, null\n  \
             br i1 %c, label %l, label %out\nout:\n  ret void"
        );
        body("ptr %any", &lines).unwrap().1
    };
    assert_eq!(regions(&walk("@a", "%r")), [(global("a"), true)].into());
    assert_eq!(regions(&walk("null", "@b")), [(global("b"), true)].into());
    assert!(walk("@a", "@b").graph.needs_merging());
    assert!(walk("%any", "%r").graph.needs_merging());
    assert!(walk("inttoptr (i64 4096 to ptr)", "@b").graph.needs_merging());
}

#[test]
fn locals_in_memory_are_apart_and_may_not_escape() {
    let made = "  %x = alloca [4 x i32], align 16\n  %y = alloca i8, align 1\n  %z = alloca i64, align 8\n";
    let (mut arena, source) =
        body("", &format!("{made}  store i8 1, ptr %y, align 1\n  store i64 2, ptr %z, align 8\n  ret void"))
            .unwrap();
    let addresses: Vec<ExprId> = source.graph.edges[0].accesses.iter().map(|access| access.address).collect();
    let distance = arena.sub(addresses[1], addresses[0]);
    let distance = Normaliser::new().normal(&mut arena, distance);
    assert_eq!(arena.as_constant(distance).map(|bits| bits.value()), Some(8));
    assert_eq!(regions(&source), [(Region::Stack, true)].into());
    for escape in [
        "  store ptr %x, ptr @p, align 8",
        "  call void @g(ptr %x)",
        "  %i = ptrtoint ptr %x to i64",
        "  %s = select i1 true, ptr %x, ptr @a",
        "  %e = getelementptr i32, ptr %x, i64 1\n  store ptr %e, ptr @p, align 8",
    ] {
        let error = body("", &format!("{made}{escape}\n  ret void")).unwrap_err();
        assert_eq!(error.to_string(), "unsupported: kept address of a local at t.ll:f", "{escape}");
    }
}

#[test]
fn promises_of_the_language_are_assumptions_at_their_instruction() {
    let (_, source) = body(
        "i32 %n, i64 %i",
        "  %s = add nsw i32 %n, 1\n  %e = getelementptr inbounds [8 x i32], ptr @a, i64 0, i64 %i\n  \
         store i32 %s, ptr %e, align 4\n  %d = sdiv i32 %s, %n\n  %h = shl i32 %d, %n\n  ret void",
    )
    .unwrap();
    let kinds: Vec<(AssumptionKind, u32)> = source.graph.edges[0]
        .assumptions
        .iter()
        .map(|assumption| match &assumption.at {
            Point::Ir { instruction, .. } => (assumption.kind, *instruction),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (AssumptionKind::NoSignedWrap, 0),
            // The index times its size does not wrap around, and the element lies in the array.
            (AssumptionKind::InBounds, 1),
            (AssumptionKind::InBounds, 1),
            (AssumptionKind::InBounds, 2),
            (AssumptionKind::DivisionDefined, 3),
            (AssumptionKind::DivisionDefined, 3),
            (AssumptionKind::ShiftInRange, 4),
        ]
    );
    assert!(source.graph.edges[0].requirements.is_empty());
}

#[test]
fn a_call_is_a_step_of_its_own_that_changes_all_but_the_frame() {
    let (arena, source) = body(
        "i32 %n",
        "  store i32 %n, ptr @a, align 4\n  %x = add i32 %n, 1\n  %r = call i32 @g(i32 %x, ptr @b)\n  \
         store i32 %r, ptr @a, align 4\n  ret void",
    )
    .unwrap();
    let calls: Vec<Option<&str>> =
        source.graph.edges.iter().map(|edge| edge.call.as_ref().map(|call| call.callee.as_str())).collect();
    assert_eq!(calls, [None, Some("g"), None]);
    let event = &source.graph.edges[1];
    assert_eq!(event.call.as_ref().map(|call| call.arguments.len()), Some(2));
    let mut assigned: Vec<&str> = event
        .assignments
        .iter()
        .map(|(variable, value)| match (arena.node(*variable), arena.node(*value)) {
            (crate::expr::Node::Variable(name), crate::expr::Node::Variable(_)) => arena.name(*name),
            other => panic!("{other:?}"),
        })
        .collect();
    assigned.sort_unstable();
    assert_eq!(assigned, ["%r", "source.memory.global.a", "source.memory.global.b", "source.memory.rest"]);
}

#[test]
fn ways_to_one_block_are_one_step() {
    let (_, source) = body(
        "i32 %n",
        "  switch i32 %n, label %x [\n    i32 1, label %y\n    i32 2, label %x\n    i32 3, label %y\n  ]\nx:\n  \
         ret void\ny:\n  unreachable",
    )
    .unwrap();
    let ends: Vec<(u32, u32)> = source.graph.edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect();
    assert_eq!(ends, [(0, 2), (0, 1), (1, 3)], "and none leaves the unreachable block");
}

#[test]
fn constants_of_the_module_are_read() {
    let (arena, source) = lowered(
        "define i32 @f() {\n  %v = load i32, ptr getelementptr inbounds ([4 x i32], ptr @table, i64 0, i64 2), align 4\n  \
         ret i32 %v\n}\n",
    )
    .unwrap();
    let returned = source.graph.edges[0].assignments[0].1;
    assert_eq!(arena.as_constant(returned).map(|bits| bits.value()), Some(7));
    assert_eq!((source.returns_bits, regions(&source).len()), (Some(32), 0));
}

#[test]
fn what_has_no_meaning_is_named_with_its_place() {
    let error = |parameters: &str, lines: &str| body(parameters, lines).unwrap_err().to_string();
    let at = "at t.ll:f";
    assert_eq!(
        error("float %x", "  %r = frem float %x, %x\n  ret void"),
        format!("unsupported: frem (frem is not modelled) {at}")
    );
    assert_eq!(error("", "  ret void\n  ret void"), format!("unsupported: shape of block 0 {at}"));
    assert_eq!(error("i1 %c", "  br label %gone"), format!("unsupported: shape of block 0 {at}"));
    assert_eq!(
        error("", "  call void @llvm.trap()\n  ret void"),
        format!("unsupported: call of llvm.trap {at}")
    );
    assert_eq!(error("", "  store i1 true, ptr @a\n  ret void"), format!("unsupported: i1 in memory {at}"));
    assert_eq!(
        error("", "  store i32 1, ptr @gone\n  ret void"),
        format!("unsupported: address of @gone {at}")
    );
    assert_eq!(error("i64 %n", "  %r = add i32 %n, 1\n  ret void"), format!("unsupported: %n as i32 {at}"));
    assert!(error("i32 %n, ...", "  ret void").contains("variable number of arguments"));
    let large = "  call void @llvm.memset.p0.i64(ptr @a, i8 0, i64 5000, i1 false)\n  ret void";
    assert!(error("", large).contains("of 5000 bytes"));
}
