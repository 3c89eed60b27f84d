//! The compiled function itself, run in a child process on chosen inputs: the judge of both graphs.
//!
//! - [`Native`]: objects linked with a driver that reads inputs and writes what the function left behind;
//! - [`agree`]: a graph run on the same inputs.
//!
//! The driver owns the globals, so each input sets all their bytes, and prints where they are, so that
//! pointers are the same numbers on both sides.

mod agree;
mod driver;

pub use agree::{Difference, Ran, Side, judge};

use crate::ir::Global;
use metaloc_toolchain::process::{Exit, Stdin, Task};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ends a compiler or a function that hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Arguments that the driver can pass: those that the System V ABI has in registers.
pub const ARGUMENTS: usize = 6;

/// Functions linked with the driver.
#[derive(Debug)]
pub struct Native {
    folder: tempfile::TempDir,
    globals: Vec<Placed>,
    functions: Vec<String>,
    time_limit: Duration,
}

/// A driver that is compiled and not yet linked with functions: many objects can share it.
#[derive(Debug)]
pub struct Driver {
    folder: tempfile::TempDir,
    compiler: PathBuf,
    address_bits: u32,
    globals: Vec<Global>,
    functions: Vec<String>,
}

/// A global and where the linker has put it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The global.
    pub global: Global,
    /// Address of its first byte.
    pub address: u64,
}

/// What a function is run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The function.
    pub function: String,
    /// Arguments: registers as the caller leaves them, or words on the stack of 32-bit code.
    pub arguments: [u64; ARGUMENTS],
    /// Bytes of each global, in the order of [`Native::globals`].
    pub memory: Vec<Vec<u8>>,
}

/// What it left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The result register, in 32-bit code both of them: what a narrower result leaves above it is anything.
    pub returned: u64,
    /// Bits in which something differs that the function must keep: callee-saved registers, the stack pointer, the
    /// caller's words above return address and arguments.
    pub lost: u64,
    /// Bytes of each global.
    pub memory: Vec<Vec<u8>>,
}

/// Why a function could not be run.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// A tool did not run.
    #[error(transparent)]
    Tool(#[from] metaloc_toolchain::Error),
    /// No place for the driver.
    #[error("cannot write the driver: {0}")]
    Write(#[from] std::io::Error),
    /// The driver does not link.
    #[error("linking the driver: {0}")]
    Link(String),
    /// The child did not answer as it should.
    #[error("the child with the function: {0}")]
    Child(Exit),
    /// The child printed something else.
    #[error("the child with the function printed {found} bytes, want {wanted}")]
    Answer {
        /// How many came.
        found: usize,
        /// How many should have.
        wanted: usize,
    },
    /// There is no such function.
    #[error("the driver has no function `{0}`")]
    NoFunction(String),
}

impl Driver {
    /// A driver that owns the globals and calls the functions. `address_bits` is 64, or 32.
    pub fn new(
        compiler: &Path,
        address_bits: u32,
        globals: &[Global],
        functions: &[String],
    ) -> Result<Driver, NativeError> {
        let folder = tempfile::tempdir()?;
        let source = folder.path().join("driver.c");
        std::fs::write(&source, driver::source(globals, functions))?;
        let task = Task::new(compiler)
            .arg(format!("-m{address_bits}"))
            .args(["-O1", "-w", "-fno-pie", "-c", "-o"])
            .arg(folder.path().join("driver.o"))
            .arg(&source);
        succeed(task)?;
        Ok(Driver {
            folder,
            compiler: compiler.to_owned(),
            address_bits,
            globals: globals.to_vec(),
            functions: functions.to_vec(),
        })
    }

    /// The driver with objects that define its functions and leave its globals undefined.
    pub fn link(&self, objects: &[PathBuf]) -> Result<Native, NativeError> {
        let folder = tempfile::tempdir()?;
        let task = Task::new(&self.compiler)
            .arg(format!("-m{}", self.address_bits))
            .args(["-no-pie", "-o"])
            .arg(folder.path().join("driver"))
            .arg(self.folder.path().join("driver.o"))
            .args(objects.iter().map(PathBuf::as_path));
        succeed(task)?;
        let mut native =
            Native { folder, globals: Vec::new(), functions: self.functions.clone(), time_limit: TIME_LIMIT };
        let addresses = native.ask(Vec::new(), 8 * self.globals.len())?;
        let addresses = addresses.chunks_exact(8).map(word);
        native.globals = self
            .globals
            .iter()
            .cloned()
            .zip(addresses)
            .map(|(global, address)| Placed { global, address })
            .collect();
        Ok(native)
    }
}

fn succeed(task: Task) -> Result<(), NativeError> {
    let outcome = task.timeout(TIME_LIMIT).run()?;
    if outcome.exit.success() {
        return Ok(());
    }
    let said = outcome.stderr_text();
    Err(NativeError::Link(said.lines().take(5).collect::<Vec<_>>().join("\n")))
}

impl Native {
    /// Links objects with a driver for some of their functions. `globals` are those that the objects leave
    /// undefined. `address_bits` is 64, or 32 for objects of that kind.
    pub fn link(
        compiler: &Path,
        address_bits: u32,
        objects: &[PathBuf],
        globals: &[Global],
        functions: &[String],
    ) -> Result<Native, NativeError> {
        Driver::new(compiler, address_bits, globals, functions)?.link(objects)
    }

    /// How long all inputs of one call of [`Native::run`] may take.
    pub fn set_time_limit(&mut self, limit: Duration) {
        self.time_limit = limit;
    }

    /// The globals, with their addresses.
    pub fn globals(&self) -> &[Placed] {
        &self.globals
    }

    /// Runs all inputs, one after the other, in one process.
    pub fn run(&self, inputs: &[Input]) -> Result<Vec<Output>, NativeError> {
        let mut request = Vec::new();
        for input in inputs {
            let number = self.functions.iter().position(|name| *name == input.function);
            let number = number.ok_or_else(|| NativeError::NoFunction(input.function.clone()))?;
            request.extend((number as u64).to_le_bytes());
            request.extend(input.arguments.iter().flat_map(|argument| argument.to_le_bytes()));
            request.extend(input.memory.iter().flatten());
        }
        let sizes: Vec<usize> = self.globals.iter().map(|placed| placed.global.size_bytes as usize).collect();
        let each = 16 + sizes.iter().sum::<usize>();
        let skipped = 8 * self.globals.len();
        let answer = self.ask(request, skipped + each * inputs.len())?;
        let output = |bytes: &[u8]| {
            let (returned, rest) = bytes.split_at(8);
            let (lost, mut rest) = rest.split_at(8);
            let memory = sizes.iter().map(|size| {
                let (bytes, after) = rest.split_at(*size);
                rest = after;
                bytes.to_vec()
            });
            Output { memory: memory.collect(), returned: word(returned), lost: word(lost) }
        };
        Ok(answer[skipped..].chunks_exact(each).map(output).collect())
    }

    fn ask(&self, request: Vec<u8>, wanted: usize) -> Result<Vec<u8>, NativeError> {
        let driver = Task::new(self.folder.path().join("driver")).stdin(Stdin::Bytes(request));
        let outcome = driver.timeout(self.time_limit).run()?;
        match outcome.exit {
            Exit::Code(0) if outcome.stdout.len() == wanted => Ok(outcome.stdout),
            Exit::Code(0) => Err(NativeError::Answer { found: outcome.stdout.len(), wanted }),
            exit => Err(NativeError::Child(exit)),
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
