//! One kernel that mutants are made of: its texts, its reference, and the driver that runs both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use metaloc_corpus::kernels::{Configuration, Kernel};
use metaloc_corpus::mutants::{self, Kind, Processor, SECRET};
use metaloc_corpus::random::Random;
use metaloc_corpus::stock;
use metaloc_prover::ir::{Global, Module, compile};
use metaloc_prover::native::{ARGUMENTS, Driver, Input, Native, NativeError, Output};
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::product::refute::Refuted;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;

/// What the reference, compiled without optimisation, is called.
const REFERENCE: &str = "metaloc_reference";
/// Inputs that decide whether a mutant behaves differently.
const INPUTS: usize = 8;
/// For all inputs together: a mutant may run forever.
const RUN_LIMIT: Duration = Duration::from_secs(2);

/// A kernel, compiled with small arrays.
pub(super) struct Subject {
    pub(super) kernel: Kernel,
    configuration: Configuration,
    llvm: Llvm,
    assembly: String,
    source: String,
    pub(super) module: Module,
    driver: Driver,
    reference: PathBuf,
    returns_bits: Option<u32>,
    parameters: Vec<u32>,
    folder: tempfile::TempDir,
}

/// A mutant that behaves differently from its reference.
pub(super) struct Different {
    /// Kernel, and what was changed.
    pub(super) what: String,
    pub(super) subject: usize,
    /// The IR, if that was changed.
    pub(super) module: Option<Module>,
    pub(super) code: FunctionCode,
    native: Native,
}

impl Subject {
    pub(super) fn new(llvm: &Llvm, configuration: &Configuration, kernel: &Kernel) -> Result<Subject> {
        let folder = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let source = std::fs::read_to_string(&kernel.path)
            .with_context(|| format!("cannot read {}", kernel.path.display()))?;
        let assembly = folder.path().join("original.s");
        // Without debug information every line is an instruction, a label or a directive.
        let defines = [kernel.small.clone(), vec!["-g0".to_owned(), "-w".to_owned()]].concat();
        configuration.compile(&kernel.path, &defines, "-S", &assembly)?;
        let assembly = std::fs::read_to_string(&assembly).context("what the compiler printed")?;
        let module = ir(llvm, configuration, kernel, &kernel.path)?;
        let function = module.function(&kernel.name)?;
        let mut arena = metaloc_prover::expr::Arena::new();
        let lowered = metaloc_prover::source::lower(&mut arena, &module, function)?;
        let globals: Vec<Global> =
            module.globals.iter().filter(|global| global.constant.is_none()).cloned().collect();
        let names = [kernel.name.clone(), REFERENCE.to_owned()];
        let driver = Driver::new(llvm.clang()?, module.layout.pointer_bits, &globals, &names)?;
        let mut subject = Subject {
            kernel: kernel.clone(),
            configuration: configuration.clone(),
            llvm: llvm.clone(),
            assembly,
            source,
            returns_bits: lowered.returns_bits,
            parameters: lowered.parameters.iter().map(|parameter| parameter.width_bits).collect(),
            module,
            driver,
            reference: PathBuf::new(),
            folder,
        };
        subject.reference = subject.plain(&kernel.path, "reference.o")?;
        Ok(subject)
    }

    /// The code as it was compiled.
    pub(super) fn original(&self) -> Result<FunctionCode> {
        let object = self.assemble(&self.assembly, "original")?.context("the compiler's own assembly")?;
        self.code(&object)
    }

    /// A mutant, if it assembles and a run shows that it behaves differently.
    pub(super) fn different(
        &self,
        number: usize,
        kind: Kind,
        random: &mut Random,
    ) -> Result<Option<Different>> {
        let name = &self.kernel.name;
        let processor = if self.configuration.i386 { Processor::I386 } else { Processor::X86_64 };
        let Some(mutant) = mutants::mutant(kind, processor, &self.assembly, &self.source, name, random)
        else {
            return Ok(None);
        };
        let label = format!("{}-{:x}", kind.name().replace(' ', "-"), random.number());
        let (object, reference, module) = if kind == Kind::Operator {
            let changed = self.folder.path().join(&label).with_extension("c");
            std::fs::write(&changed, &mutant.text).context("a mutant")?;
            let module = ir(&self.llvm, &self.configuration, &self.kernel, &changed)?;
            let object = self.assemble(&self.assembly, &label)?.context("the compiler's own assembly")?;
            (object, self.plain(&changed, &format!("{label}-reference.o"))?, Some(module))
        } else {
            let Some(object) = self.assemble(&mutant.text, &label)? else { return Ok(None) };
            (object, self.reference.clone(), None)
        };
        let mut native = match self.driver.link(&[object.clone(), reference]) {
            Ok(native) => native,
            // A field that the changed address does not fit in.
            Err(NativeError::Link(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        native.set_time_limit(RUN_LIMIT);
        let inputs = self.inputs(&native, random);
        if self.differs(&native, &inputs)? != Some(true) {
            return Ok(None);
        }
        Ok(Some(Different {
            what: format!("{name}, {}: {}", kind.name(), mutant.what),
            subject: number,
            module,
            code: self.code(&object)?,
            native,
        }))
    }

    /// Whether an input on which the graphs differ makes the compiled functions differ.
    pub(super) fn confirms(&self, mutant: &Different, refuted: &Refuted) -> Result<bool> {
        let mut arguments = [0; ARGUMENTS];
        for (argument, value) in arguments.iter_mut().zip(&refuted.parameters) {
            *argument = *value as u64;
        }
        let memory = mutant.native.globals().iter().map(|placed| {
            let size = placed.global.size_bytes as usize;
            refuted.memory.get(&placed.global.symbol).cloned().unwrap_or_else(|| vec![0; size])
        });
        let input = Input { function: String::new(), arguments, memory: memory.collect() };
        Ok(self.differs(&mutant.native, &[input])? == Some(true))
    }

    /// Whether mutant and reference differ on some input; nothing if the reference does not return.
    fn differs(&self, native: &Native, inputs: &[Input]) -> Result<Option<bool>> {
        let run = |function: &str| {
            let named = |input: &Input| Input { function: function.to_owned(), ..input.clone() };
            native.run(&inputs.iter().map(named).collect::<Vec<_>>())
        };
        let expected = match run(REFERENCE) {
            Ok(outputs) => outputs,
            Err(NativeError::Child(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let found = match run(&self.kernel.name) {
            Ok(outputs) => outputs,
            // It crashes, or runs on, where the reference returns.
            Err(NativeError::Child(_) | NativeError::Answer { .. }) => return Ok(Some(true)),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(expected.iter().zip(&found).any(|(expected, found)| !self.same(expected, found))))
    }

    fn same(&self, expected: &Output, found: &Output) -> bool {
        let mask = match self.returns_bits {
            None => 0,
            Some(bits) => u64::MAX >> (64 - bits.clamp(1, 64)),
        };
        found.lost == 0 && (expected.returned ^ found.returned) & mask == 0 && expected.memory == found.memory
    }

    /// Random, corner and small numbers; in some the first word of every global is the secret one.
    fn inputs(&self, native: &Native, random: &mut Random) -> Vec<Input> {
        let input = |number: usize| {
            let mut memory: Vec<Vec<u8>> = native
                .globals()
                .iter()
                .map(|placed| {
                    let words = placed.global.size_bytes.div_ceil(4);
                    let mut bytes: Vec<u8> =
                        (0..words).flat_map(|_| word(random, number).to_le_bytes()).collect();
                    bytes.truncate(placed.global.size_bytes as usize);
                    bytes
                })
                .collect();
            if number % 4 == 3 {
                memory.iter_mut().filter(|bytes| bytes.len() >= 4).for_each(|bytes| {
                    bytes[..4].copy_from_slice(&SECRET.to_le_bytes());
                });
            }
            let mut arguments = [0; ARGUMENTS];
            for (argument, width_bits) in arguments.iter_mut().zip(&self.parameters) {
                let value = u64::from(word(random, number));
                // The caller leaves anything above the parameter.
                *argument = if *width_bits < 64 { value | random.number() << 32 } else { value };
            }
            Input { function: String::new(), arguments, memory }
        };
        (0..INPUTS).map(input).collect()
    }

    fn assemble(&self, text: &str, label: &str) -> Result<Option<PathBuf>> {
        let (from, to) = (
            self.folder.path().join(label).with_extension("s"),
            self.folder.path().join(label).with_extension("o"),
        );
        std::fs::write(&from, text).context("a mutant")?;
        let bits = self.configuration.i386.then_some("-m32");
        let outcome = Task::new(&self.configuration.compiler)
            .args(bits)
            .arg("-c")
            .arg(&from)
            .arg("-o")
            .arg(&to)
            .run()?;
        Ok(outcome.exit.success().then_some(to))
    }

    fn code(&self, object: &Path) -> Result<FunctionCode> {
        let bytes = std::fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
        Ok(ObjectFile::parse(&object.display().to_string(), &bytes)?.function(&self.kernel.name)?.clone())
    }

    /// The source without optimisation, under another name.
    fn plain(&self, source: &Path, to: &str) -> Result<PathBuf> {
        let to = self.folder.path().join(to);
        let task = Task::new(self.llvm.clang()?)
            .args(["-O0", "-w", "-fno-pic", "-c"])
            .args(self.configuration.plain())
            .args(&self.kernel.small)
            .arg(format!("-D{}={REFERENCE}", self.kernel.name))
            .args(include(&self.kernel))
            .arg(source)
            .arg("-o")
            .arg(&to);
        stock::succeed(task)?;
        Ok(to)
    }
}

/// Where a mutant finds the kernels' header.
fn include(kernel: &Kernel) -> Vec<String> {
    let folder = kernel.path.parent().unwrap_or(Path::new("."));
    vec![format!("-I{}", folder.display())]
}

fn ir(llvm: &Llvm, configuration: &Configuration, kernel: &Kernel, source: &Path) -> Result<Module> {
    let flags = [configuration.meaning.clone(), kernel.small.clone(), include(kernel)].concat();
    let text = compile::text(llvm, source, &flags)?;
    Ok(Module::parse(&source.display().to_string(), &text)?)
}

/// A number of the kind that an input is made of.
fn word(random: &mut Random, number: usize) -> u32 {
    let bits = random.number();
    match number % 4 {
        0 => bits as u32,
        1 => ((bits as u32) % 5).wrapping_sub(2),
        _ => match bits >> 61 {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << 31,
            3 => i32::MAX as u32,
            4 => (bits as u32) % 100,
            _ => bits as u32,
        },
    }
}
