//! A module of any size for measuring cost: the same mixture of code, in functions of as many blocks as asked.
//!
//! A function is a row of regions drawn from one distribution: straight code, diamonds, switches, loops tested
//! at the top and at the bottom, nested up to two deep. Only the length of the row depends on the size, so that
//! cost per instruction can be compared between sizes. The code is what a front end emits without optimising:
//! variables in memory, expressions computed again and again, so that the passes of `default<O2>` have work.
//! Same arguments, same text, on every machine; read by LLVM 14 to 22 (14 with `-opaque-pointers`).

use std::fmt::Write;

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of functions.
    pub functions: u32,
    /// Blocks in each of them, at least 1.
    pub blocks: u32,
}

/// The three sizes of the cost benchmark: the same number of blocks in functions of growing size.
pub const SIZES: [Shape; 3] = [
    Shape { functions: 100, blocks: 100 },
    Shape { functions: 10, blocks: 1_000 },
    Shape { functions: 1, blocks: 10_000 },
];

/// A generated module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// IR text.
    pub text: String,
    /// Number of instructions in it.
    pub instructions: u64,
}

/// Generates a module in which every instruction has a debug location.
pub fn module(shape: Shape, seed: u64) -> Module {
    let mut writer = Writer::new(seed);
    for number in 0..shape.functions {
        writer.function(number, shape.blocks.max(1));
    }
    writer.finish()
}

/// Variables of each function.
const VARIABLES: u32 = 8;
/// Elements of the global array; a power of two, so that masking gives an index.
const ELEMENTS: u32 = 256;
/// How many blocks the largest region adds.
const LARGEST_REGION: u32 = 10;
/// Metadata numbers that every module has: compile unit, file, flags, types.
const FIXED_METADATA: u32 = 5;

struct Writer {
    random: SplitMix,
    /// Functions, and what is declared.
    code: String,
    /// Numbered metadata from [`FIXED_METADATA`] on.
    metadata: String,
    next_metadata: u32,
    /// The scope of new locations.
    scope: u32,
    /// The location of new instructions.
    location: u32,
    line: u32,
    next_value: u32,
    next_block: u32,
    /// Blocks of the current function so far.
    blocks: u32,
    instructions: u64,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let mut code =
            format!("@data = global [{ELEMENTS} x i32] zeroinitializer\n@limit = global i32 12\n\n");
        code += "declare void @sink(i32)\ndeclare i32 @pure(i32) nounwind willreturn readnone\n";
        Writer {
            random: SplitMix(seed),
            code,
            metadata: String::new(),
            next_metadata: FIXED_METADATA,
            scope: 0,
            location: 0,
            line: 0,
            next_value: 0,
            next_block: 0,
            blocks: 0,
            instructions: 0,
        }
    }

    fn function(&mut self, number: u32, blocks: u32) {
        self.line += 2;
        let line = self.line;
        let subprogram = self.node(format!(
            "distinct !DISubprogram(name: \"f{number}\", scope: !1, file: !1, line: {line}, type: !3, \
             scopeLine: {line}, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !4)"
        ));
        self.scope = subprogram;
        (self.next_value, self.next_block, self.blocks) = (0, 0, 1);
        self.statement();
        let _ = write!(self.code, "\ndefine i32 @f{number}(i32 %a, i32 %b) !dbg !{subprogram} {{\nentry:\n");
        for variable in 0..VARIABLES {
            self.plain(&format!("%v{variable} = alloca i32, align 4"));
        }
        self.plain("store i32 %a, ptr %v0, align 4");
        self.plain("store i32 %b, ptr %v1, align 4");
        for variable in 2..VARIABLES {
            self.plain(&format!("store i32 {variable}, ptr %v{variable}, align 4"));
        }
        while blocks - self.blocks > LARGEST_REGION {
            self.region(2);
        }
        while self.blocks < blocks {
            let next = self.label();
            self.jump(&next);
            self.open(&next);
            self.straight();
        }
        self.statement();
        let result = self.expression();
        self.plain(&format!("ret i32 {result}"));
        self.code += "}\n";
    }

    /// One region, with loops nested at most `depth` deep.
    fn region(&mut self, depth: u32) {
        self.straight();
        match self.random.below(if depth > 0 { 6 } else { 3 }) {
            0 | 1 => self.diamond(),
            2 => self.switch(),
            3 => self.top_tested(depth),
            _ => self.bottom_tested(depth),
        }
    }

    /// Code without branches: one to three statements.
    fn straight(&mut self) {
        for _ in 0..=self.random.below(3) {
            self.statement();
            match self.random.below(8) {
                0 => {
                    let argument = self.expression();
                    self.plain(&format!("call void @sink(i32 {argument})"));
                }
                1 => {
                    let argument = self.expression();
                    let result = self.value(&format!("call i32 @pure(i32 {argument})"));
                    self.assign(&result);
                }
                2 | 3 => {
                    let address = self.element();
                    let value = self.expression();
                    self.plain(&format!("store i32 {value}, ptr {address}, align 4"));
                }
                _ => {
                    let value = self.expression();
                    self.assign(&value);
                }
            }
        }
    }

    /// `if (c) ... else ...`, both sides with an expression that the other one has too.
    fn diamond(&mut self) {
        let (yes, no, join) = (self.label(), self.label(), self.label());
        self.statement();
        let condition = self.condition();
        self.plain(&format!("br i1 {condition}, label %{yes}, label %{no}"));
        let (a, b) = (self.random.below(VARIABLES), self.random.below(VARIABLES));
        for side in [&yes, &no] {
            self.open(side);
            self.statement();
            let sum = self.sum_of(a, b);
            self.assign(&sum);
            self.straight();
            self.jump(&join);
        }
        self.open(&join);
        self.statement();
        let again = self.sum_of(a, b);
        self.assign(&again);
    }

    fn switch(&mut self) {
        let cases: Vec<String> = (0..3).map(|_| self.label()).collect();
        let join = self.label();
        self.statement();
        let value = self.expression();
        let value = self.value(&format!("and i32 {value}, 3"));
        let targets: Vec<String> =
            cases.iter().zip(1..).map(|(label, case)| format!("i32 {case}, label %{label}")).collect();
        self.plain(&format!("switch i32 {value}, label %{join} [ {} ]", targets.join(" ")));
        for case in &cases {
            self.open(case);
            self.straight();
            self.jump(&join);
        }
        self.open(&join);
    }

    /// `while (i < n)`
    fn top_tested(&mut self, depth: u32) {
        let (head, body, exit) = (self.label(), self.label(), self.label());
        let (counter, bound) = self.loop_begin();
        self.jump(&head);
        self.open(&head);
        self.statement();
        let now = self.load(&counter);
        let limit = self.bound(&bound);
        let more = self.value(&format!("icmp slt i32 {now}, {limit}"));
        self.plain(&format!("br i1 {more}, label %{body}, label %{exit}"));
        self.open(&body);
        self.loop_body(depth, &counter);
        self.increment(&counter);
        self.jump(&head);
        self.open(&exit);
    }

    /// `do ... while (i < n)`
    fn bottom_tested(&mut self, depth: u32) {
        let (body, exit) = (self.label(), self.label());
        let (counter, bound) = self.loop_begin();
        self.jump(&body);
        self.open(&body);
        self.loop_body(depth, &counter);
        let next = self.increment(&counter);
        let limit = self.bound(&bound);
        let more = self.value(&format!("icmp slt i32 {next}, {limit}"));
        self.plain(&format!("br i1 {more}, label %{body}, label %{exit}"));
        self.open(&exit);
    }

    /// The counter of a new loop, set to 0, and its bound: a small constant or a global that stays as it is.
    fn loop_begin(&mut self) -> (String, Option<u32>) {
        self.statement();
        let counter = format!("%v{}", VARIABLES - 1 - self.random.below(2));
        self.plain(&format!("store i32 0, ptr {counter}, align 4"));
        let constant = (self.random.below(4) == 0).then(|| 2 + self.random.below(4));
        (counter, constant)
    }

    fn bound(&mut self, constant: &Option<u32>) -> String {
        match constant {
            Some(bound) => bound.to_string(),
            None => self.value("load i32, ptr @limit, align 4"),
        }
    }

    /// Something invariant, something that depends on the counter, and at times a region of its own.
    fn loop_body(&mut self, depth: u32, counter: &str) {
        let outer = self.scope;
        let line = self.line;
        self.scope = self
            .node(format!("distinct !DILexicalBlock(scope: !{outer}, file: !1, line: {line}, column: 3)"));
        self.statement();
        let invariant = self.sum_of(0, 1);
        let index = self.load(counter);
        let address = self.element_at(&index);
        let old = self.value(&format!("load i32, ptr {address}, align 4"));
        let new = self.value(&format!("add i32 {old}, {invariant}"));
        self.plain(&format!("store i32 {new}, ptr {address}, align 4"));
        match (depth > 1, self.random.below(3)) {
            (true, 0) => self.bottom_tested_inner(),
            (_, 1) => self.diamond(),
            _ => self.straight(),
        }
        self.scope = outer;
    }

    /// The inner loop of a nest counts in a variable that the outer one does not use.
    fn bottom_tested_inner(&mut self) {
        let (body, exit) = (self.label(), self.label());
        let counter = format!("%v{}", VARIABLES - 3);
        self.statement();
        self.plain(&format!("store i32 0, ptr {counter}, align 4"));
        self.jump(&body);
        self.open(&body);
        self.straight_without(&counter);
        let next = self.increment(&counter);
        let limit = self.bound(&None);
        let more = self.value(&format!("icmp slt i32 {next}, {limit}"));
        self.plain(&format!("br i1 {more}, label %{body}, label %{exit}"));
        self.open(&exit);
    }

    fn straight_without(&mut self, counter: &str) {
        self.statement();
        let index = self.load(counter);
        let address = self.element_at(&index);
        let value = self.expression();
        self.plain(&format!("store i32 {value}, ptr {address}, align 4"));
    }

    fn increment(&mut self, counter: &str) -> String {
        self.statement();
        let now = self.load(counter);
        let next = self.value(&format!("add nsw i32 {now}, 1"));
        self.plain(&format!("store i32 {next}, ptr {counter}, align 4"));
        next
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.expression(), self.variable());
        let predicate = ["eq", "slt", "ugt", "ne"][self.random.below(4) as usize];
        self.value(&format!("icmp {predicate} i32 {a}, {b}"))
    }

    /// An expression over variables and memory, with operations that simplify.
    fn expression(&mut self) -> String {
        let (a, b) = (self.random.below(VARIABLES), self.random.below(VARIABLES));
        let sum = self.sum_of(a, b);
        match self.random.below(6) {
            0 => self.value(&format!("mul i32 {sum}, 8")),
            1 => {
                let zero = self.value(&format!("add i32 {sum}, 0"));
                self.value(&format!("xor i32 {zero}, -1"))
            }
            2 => {
                let address = self.element();
                let loaded = self.value(&format!("load i32, ptr {address}, align 4"));
                self.value(&format!("sub i32 {sum}, {loaded}"))
            }
            3 => {
                let half = self.value(&format!("udiv i32 {sum}, 4"));
                self.value(&format!("shl i32 {half}, 2"))
            }
            _ => sum,
        }
    }

    fn sum_of(&mut self, a: u32, b: u32) -> String {
        let (a, b) = (self.load(&format!("%v{a}")), self.load(&format!("%v{b}")));
        let sum = self.value(&format!("add i32 {a}, {b}"));
        self.value(&format!("mul i32 {sum}, 3"))
    }

    fn variable(&mut self) -> String {
        let variable = self.random.below(VARIABLES);
        self.load(&format!("%v{variable}"))
    }

    /// Assigns to a variable that counts no loop.
    fn assign(&mut self, value: &str) {
        let variable = self.random.below(VARIABLES - 3);
        self.plain(&format!("store i32 {value}, ptr %v{variable}, align 4"));
    }

    fn load(&mut self, address: &str) -> String {
        self.value(&format!("load i32, ptr {address}, align 4"))
    }

    fn element(&mut self) -> String {
        let index = self.variable();
        self.element_at(&index)
    }

    fn element_at(&mut self, index: &str) -> String {
        let masked = self.value(&format!("and i32 {index}, {}", ELEMENTS - 1));
        let wide = self.value(&format!("zext i32 {masked} to i64"));
        self.value(&format!("getelementptr inbounds [{ELEMENTS} x i32], ptr @data, i64 0, i64 {wide}"))
    }

    fn jump(&mut self, target: &str) {
        self.plain(&format!("br label %{target}"));
    }

    fn label(&mut self) -> String {
        self.next_block += 1;
        format!("b{}", self.next_block)
    }

    fn open(&mut self, label: &str) {
        self.blocks += 1;
        let _ = write!(self.code, "\n{label}:\n");
    }

    /// An instruction with a result.
    fn value(&mut self, text: &str) -> String {
        let name = format!("%x{}", self.next_value);
        self.next_value += 1;
        self.plain(&format!("{name} = {text}"));
        name
    }

    /// An instruction at the current location.
    fn plain(&mut self, text: &str) {
        self.instructions += 1;
        let _ = writeln!(self.code, "  {text}, !dbg !{}", self.location);
    }

    /// The instructions from here on belong to a new source line.
    fn statement(&mut self) {
        self.line += 1;
        let (line, scope, column) = (self.line, self.scope, 3 + self.random.below(40));
        self.location = self.node(format!("!DILocation(line: {line}, column: {column}, scope: !{scope})"));
    }

    fn node(&mut self, text: String) -> u32 {
        let number = self.next_metadata;
        self.next_metadata += 1;
        let _ = writeln!(self.metadata, "!{number} = {text}");
        number
    }

    fn finish(mut self) -> Module {
        self.code += "\n!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n\n\
            !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)\n\
            !1 = !DIFile(filename: \"generated.c\", directory: \"/\")\n\
            !2 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
            !3 = !DISubroutineType(types: !4)\n\
            !4 = !{}\n";
        Module { text: self.code + &self.metadata, instructions: self.instructions }
    }
}

/// SplitMix64: small, and the same for ever.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The high half of the product: unbiased enough for bounds of a few dozens.
        (((mixed >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir_text;

    fn blocks(text: &str) -> usize {
        text.lines().filter(|line| line.ends_with(':')).count()
    }

    #[test]
    fn same_seed_same_text() {
        let shape = Shape { functions: 2, blocks: 50 };
        assert_eq!(module(shape, 1), module(shape, 1));
        assert_ne!(module(shape, 1), module(shape, 2));
    }

    #[test]
    fn sizes_have_the_same_mixture() {
        let per_block = SIZES
            .map(|shape| module(shape, 1).instructions as f64 / f64::from(shape.functions * shape.blocks));
        for ratio in per_block {
            assert!((ratio / per_block[0] - 1.0).abs() < 0.1, "{per_block:?}");
        }
    }

    proptest! {
        #[test]
        fn block_and_instruction_counts_are_exact(functions in 1u32..4, count in 1u32..80, seed: u64) {
            let module = module(Shape { functions, blocks: count }, seed);
            prop_assert_eq!(blocks(&module.text), (functions * count) as usize);
            prop_assert_eq!(ir_text::instructions(&module.text).count() as u64, module.instructions);
        }

        #[test]
        fn every_instruction_has_a_location(seed: u64) {
            let text = module(Shape { functions: 1, blocks: 60 }, seed).text;
            let metadata = ir_text::Metadata::read(&text);
            for inst in ir_text::instructions(&text) {
                let location = metadata.location_of(&inst.text);
                prop_assert!(location.0.ends_with("@f0"), "{} {location}", inst.text);
            }
        }
    }
}
