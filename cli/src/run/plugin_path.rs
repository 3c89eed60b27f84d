//! `metaloc plugin-path`: for build systems.

use anyhow::Result;

use super::{find_llvm, find_plugin};
use crate::args::PluginPath;
use crate::output;
use crate::status::Status;

pub fn run(args: &PluginPath) -> Result<Status> {
    let plugin = find_plugin(&find_llvm(&args.llvm)?)?;
    output::print(&format!("{}\n", plugin.display()))?;
    Ok(Status::Clean)
}
