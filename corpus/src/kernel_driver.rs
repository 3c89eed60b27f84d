//! The C text of a program around a kernel: it owns the kernel's globals, fills them and calls it once.
//!
//! The values are small and of both signs, so that conditions go both ways and sums do not overflow, and different from
//! element to element, so that each iteration changes memory. Arguments are such that nothing undefined is done (see
//! the README of `regress/kernels`).

use std::ffi::OsString;
use std::path::Path;

use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;

use crate::kernels::{Configuration, Kernel};
use crate::{Result, stock};

/// Arrays and numbers of `tsvc.h`.
const GLOBALS: &str = "
int a[L] ALIGNED, b[L] ALIGNED, c[L] ALIGNED, d[L] ALIGNED, e[L] ALIGNED, x[L] ALIGNED, indx[L] ALIGNED;
int X[L] ALIGNED, Y[L] ALIGNED;
int aa[N][N] ALIGNED, bb[N][N] ALIGNED, cc[N][N] ALIGNED;
int array[N * N] ALIGNED;
int arr[L];
int val = 3, temp, s = 2, val_s = 5;
int *xx = array, *yy = array;
static int index_of[L];

static unsigned state = 1;
static int draw(void) {
  state = state * 1664525u + 1013904223u;
  if (SPARSE && (state >> 13 & 3) == 0) return 0;
  return (int)(state >> 16) % 100 - 50;
}
static void fill(int *to, int count) {
  for (int k = 0; k < count; k++) to[k] = draw();
}
";

const MAIN: &str = "
int main(void) {
  int *lists[] = {a, b, c, d, e, x, X, Y, arr};
  for (int k = 0; k < (int)(sizeof lists / sizeof *lists); k++) fill(lists[k], L);
  int *squares[] = {&aa[0][0], &bb[0][0], &cc[0][0], array};
  for (int k = 0; k < (int)(sizeof squares / sizeof *squares); k++) fill(squares[k], N * N);
  for (int k = 0; k < L; k++) {
    indx[k] = draw() & 7;
    index_of[k] = (int)(((unsigned)k * 7 + 3) % L);
  }
  CALL;
  return 0;
}
";

/// Links an object of the kernel with the driver of a run; `folder` is for what is made on the way.
pub fn link(
    configuration: &Configuration,
    (kernel, run): (&Kernel, usize),
    object: &Path,
    folder: &Path,
    to: &Path,
) -> Result<()> {
    let source = folder.join("driver.c");
    write(kernel, run, &source)?;
    let task =
        Task::new(COMPILER).args(flags(configuration, kernel)).arg(&source).arg(object).arg("-o").arg(to);
    stock::succeed(task)?;
    Ok(())
}

/// The same of the first run, as a command with `{object}` and `{program}` in it; the driver is written to `source`.
pub fn link_command(configuration: &Configuration, kernel: &Kernel, source: &Path) -> Result<String> {
    write(kernel, 0, source)?;
    let quoted = |word: &OsString| format!("'{}'", word.to_string_lossy());
    let words: Vec<String> = flags(configuration, kernel).iter().map(quoted).collect();
    Ok(format!("{COMPILER} {} '{}' {{object}} -o {{program}}", words.join(" "), source.display()))
}

/// What compiles drivers and links programs.
const COMPILER: &str = "gcc-12";

fn write(kernel: &Kernel, run: usize, source: &Path) -> Result<()> {
    std::fs::write(source, text(kernel, run))
        .map_err(|reason| metaloc_toolchain::Error::Write { path: source.to_owned(), reason })?;
    Ok(())
}

/// No debug information: nothing of the driver is to be seen.
fn flags(configuration: &Configuration, kernel: &Kernel) -> Vec<OsString> {
    let headers = kernel.path.parent().unwrap_or(Path::new("."));
    let mut flags: Vec<OsString> = ["-O1", "-w"].map(OsString::from).to_vec();
    flags.extend(kernel.defines.iter().map(OsString::from));
    flags.extend([OsString::from("-I"), headers.into()]);
    flags.extend(configuration.place().into_iter().map(OsString::from));
    flags
}

/// Compiles the kernel as it is written: what is true of it. By clang, whose columns the proofs speak of.
pub fn compile_plain(llvm: &Llvm, configuration: &Configuration, kernel: &Kernel, to: &Path) -> Result<()> {
    let task = Task::new(llvm.clang()?).args(["-O0", "-g"]).args(configuration.plain());
    let task = task.args(configuration.place().iter().filter(|flag| flag.starts_with("-f")));
    stock::succeed(task.args(&kernel.defines).arg("-c").arg(&kernel.path).arg("-o").arg(to))?;
    Ok(())
}

/// Types of a kernel's parameters, and arguments for it: the first are for one run, all together come to more of its code,
/// as compilers make versions of a loop.
fn parameters(kernel: &Kernel) -> (&'static str, &'static [&'static str]) {
    match kernel.name.as_str() {
        "s122" => ("int, int", &["1, 1", "1, 2"]),
        "s162" => ("int", &["1"]),
        "s171" => ("int", &["1", "0"]),
        "s174" => ("int", &["H", "5"]),
        "s272" => ("int", &["0"]),
        "s2710" => ("int", &["1", "0"]),
        "s4115" => ("int *", &["index_of"]),
        _ => ("void", &[""]),
    }
}

/// How many runs of a kernel there are: with each of its arguments, and one in which a quarter of all data is 0, so that
/// conditions go the way that they rarely go.
pub fn runs(kernel: &Kernel) -> usize {
    parameters(kernel).1.len() + 1
}

/// The driver for one of the runs.
pub fn text(kernel: &Kernel, run: usize) -> String {
    let (parameters, arguments) = parameters(kernel);
    let (name, sparse) = (&kernel.name, run >= arguments.len());
    let arguments = arguments.get(run).unwrap_or(&arguments[0]);
    let call = MAIN.replace("CALL", &format!("{name}({arguments})"));
    let sparse = u8::from(sparse);
    format!("#define SPARSE {sparse}\n#include \"tsvc.h\"\n{GLOBALS}\nint {name}({parameters});\n{call}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tsvc;
    use std::path::Path;

    #[test]
    fn every_parameter_gets_an_argument() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/kernels");
        for kernel in tsvc(&folder).unwrap() {
            let source = std::fs::read_to_string(&kernel.path).unwrap();
            let head = source.lines().find(|line| line.contains(&format!("int {}(", kernel.name))).unwrap();
            let inside = &head[head.find('(').unwrap() + 1..head.rfind(')').unwrap()];
            let wanted = if inside == "void" { 0 } else { inside.split(',').count() };
            for run in 0..runs(&kernel) {
                let text = text(&kernel, run);
                let call =
                    text.lines().find(|line| line.starts_with(&format!("  {}(", kernel.name))).unwrap();
                let given = &call[call.find('(').unwrap() + 1..call.rfind(')').unwrap()];
                let given = if given.is_empty() { 0 } else { given.split(',').count() };
                assert_eq!(given, wanted, "{}", kernel.name);
            }
        }
    }
}
