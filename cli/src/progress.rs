//! The progress bar: on standard error, and only if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts inputs that are done.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(inputs: usize) -> Progress {
        let shown = std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(inputs as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    pub fn done(&self, input: &str) {
        self.0.set_message(input.to_owned());
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
