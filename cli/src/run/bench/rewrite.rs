//! `metaloc bench rewrite`: how fast debug information is rewritten, and how much memory that takes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use metaloc_repair::Object;
use metaloc_toolchain::atomic;
use metaloc_toolchain::process::Task;
use serde::{Deserialize, Serialize};

use crate::args::{BenchRewrite, Format};
use crate::made_up;
use crate::output;
use crate::status::Status;

/// Of the functions with variables: every so many.
const STRIDES: [usize; 4] = [1000, 100, 10, 1];
/// Things that are said of a variable of a function, at most: what compilers make.
const MOST_SAID: u64 = 8;
/// Far more than a run takes.
const LIMIT: Duration = Duration::from_secs(600);

pub fn run(args: &BenchRewrite) -> Result<Status> {
    if let Some(stride) = args.one {
        output::print(
            &(serde_json::to_string(&one(&args.file, stride.get(), args.output.as_deref())?)? + "\n"),
        )?;
        return Ok(Status::Clean);
    }
    let own = std::env::current_exe().context("where is this program?")?;
    let mut rows = Vec::new();
    for stride in STRIDES {
        let mut runs = Vec::new();
        for _ in 0..args.runs.get() {
            let mut task =
                Task::new(&own).args(["bench", "rewrite", "--one", &stride.to_string()]).arg(&args.file);
            if let Some(output) = &args.output {
                task = task.arg("-o").arg(output);
            }
            let outcome = task.timeout(LIMIT).run()?;
            if !outcome.exit.success() {
                bail!("{}: {}: {}", args.file.display(), outcome.exit, outcome.stderr_text().trim());
            }
            let run: Run = serde_json::from_slice(&outcome.stdout).context("not what a run prints")?;
            runs.push((run, outcome.usage.max_rss_kib));
        }
        runs.sort_by(|left, right| left.0.seconds.total_cmp(&right.0.seconds));
        let memory = runs.iter().map(|run| run.1).max().unwrap_or(0) as f64 * 1024.0;
        let run = runs.swap_remove(runs.len() / 2).0;
        let bytes = run.debug_bytes as f64;
        rows.push(Row {
            stride,
            mb_per_second: bytes / 1e6 / run.seconds,
            memory_factor: memory / bytes,
            run,
        });
    }
    let table = Table { schema: "metaloc.bench-rewrite/1", file: args.file.display().to_string(), rows };
    output::print(&match args.format {
        Format::Text => table.text(),
        Format::Json => serde_json::to_string_pretty(&table)? + "\n",
    })?;
    let slow = table.rows.iter().any(|row| row.mb_per_second < args.at_least);
    let large = table.rows.iter().any(|row| row.memory_factor > args.at_most);
    Ok(if slow || large { Status::Findings } else { Status::Clean })
}

/// One run.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    /// Functions of which something is claimed.
    functions: usize,
    debug_bytes: u64,
    debug_bytes_after: u64,
    /// Of the processor.
    seconds: f64,
    wall_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    stride: usize,
    mb_per_second: f64,
    /// The whole process, file included, over the size of the debug sections.
    memory_factor: f64,
    #[serde(flatten)]
    run: Run,
}

/// `metaloc.bench-rewrite/1`.
#[derive(Debug, Serialize)]
struct Table {
    schema: &'static str,
    file: String,
    rows: Vec<Row>,
}

impl Table {
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.file);
        for row in &self.rows {
            text += &format!(
                "every {:>4}th function: {:>6} functions, {:.1} MB of debug sections, {:.1} MB after, {:.2} s of the processor ({:.2} s by the clock), {:.0} MB/s, \
                 memory {:.1}x\n",
                row.stride,
                row.run.functions,
                row.run.debug_bytes as f64 / 1e6,
                row.run.debug_bytes_after as f64 / 1e6,
                row.run.seconds,
                row.run.wall_seconds,
                row.mb_per_second,
                row.memory_factor,
            );
        }
        text
    }
}

/// Claims are made first; what is timed is reading the object and writing it with them.
fn one(path: &Path, stride: usize, output: Option<&Path>) -> Result<Run> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let claims = claims(&bytes, stride).with_context(|| path.display().to_string())?;
    if claims.is_empty() {
        bail!("{}: no function with variables", path.display());
    }
    let (begun, busy) = (Instant::now(), busy_seconds()?);
    let repaired = Object::parse(&bytes)?.repair(&claims).with_context(|| path.display().to_string())?;
    let (seconds, wall_seconds) = (busy_seconds()? - busy, begun.elapsed().as_secs_f64());
    if repaired.bytes == bytes {
        bail!("{}: nothing changed", path.display());
    }
    if let Some(output) = output {
        atomic::write(output, &repaired.bytes)?;
    }
    Ok(Run {
        functions: claims.len(),
        debug_bytes: repaired.debug_bytes.0,
        debug_bytes_after: repaired.debug_bytes.1,
        seconds,
        wall_seconds,
    })
}

/// Processor time of this thread: what others do on the machine does not count.
fn busy_seconds() -> Result<f64> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let nanoseconds: f64 =
        text.split_whitespace().next().unwrap_or_default().parse().with_context(|| path.to_owned())?;
    Ok(nanoseconds / 1e9)
}

fn claims(bytes: &[u8], stride: usize) -> Result<Vec<metaloc_repair::FunctionClaims>> {
    let object = Object::parse(bytes)?;
    let codes = object.functions()?;
    let said = object.said(&codes)?;
    let with_variables = codes.iter().zip(&said).filter_map(|(code, said)| Some((code, said.as_ref()?)));
    let wanted = with_variables.filter(|(_, said)| !said.variables.is_empty()).step_by(stride);
    let claims = wanted.map(|(code, said)| {
        let step = (code.pcs.end - code.pcs.start).div_ceil(MOST_SAID).max(1);
        made_up::claims(code, said, object.machine(), step as usize)
    });
    Ok(claims.collect())
}
