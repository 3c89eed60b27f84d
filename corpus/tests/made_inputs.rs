//! Generated modules and programs are what each installed LLVM can read.

use metaloc_corpus::generate::{self, Shape};
use metaloc_corpus::{programs, stock};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Stdin, Task};

#[test]
fn generated_modules_are_valid_everywhere() {
    let module = generate::module(Shape { functions: 3, blocks: 300 }, 1);
    for llvm in Llvm::installed() {
        let task = Task::new(&llvm.opt)
            .args(stock::opaque_pointer_args(&module.text, llvm.major))
            .args(["-passes=verify", "-disable-output"]);
        stock::succeed(task.stdin(Stdin::Bytes(module.text.clone().into_bytes()))).unwrap();
    }
}

#[test]
fn generated_modules_give_the_passes_work() {
    let module = generate::module(Shape { functions: 2, blocks: 200 }, 1);
    let Some(llvm) = Llvm::installed().pop() else { panic!("no LLVM is installed") };
    let run = |pipeline: &str| {
        let task = Task::new(&llvm.opt)
            .args(stock::opaque_pointer_args(&module.text, llvm.major))
            .args(["-S", "-passes", pipeline]);
        String::from_utf8(stock::output(task.stdin(Stdin::Bytes(module.text.clone().into_bytes()))).unwrap())
            .unwrap()
    };
    let before = run("sroa");
    for pass in ["instcombine", "gvn", "loop-mssa(licm)", "simplifycfg", "loop-rotate", "loop-unroll"] {
        let extra = if pass == "loop-unroll" { "loop-simplify,lcssa,loop-rotate,indvars," } else { "" };
        assert_ne!(before, run(&format!("sroa,{extra}{pass}")), "{pass} does nothing");
    }
}

#[test]
fn programs_become_bitcode() {
    let units = programs::units(&|text| eprintln!("{text}")).unwrap();
    let count = |name| units.iter().filter(|unit| unit.program.name == name).count();
    assert_eq!((count("sqlite3"), count("lua"), count("zlib")), (1, 32, 15));
    let small = units.iter().find(|unit| unit.name() == "zlib/adler32.c").unwrap();
    for llvm in Llvm::installed() {
        let path = small.bitcode(&llvm).unwrap();
        let task = Task::new(&llvm.opt).args(["-passes=default<O2>", "-disable-output"]).arg(&path);
        stock::succeed(task).unwrap();
    }
}
