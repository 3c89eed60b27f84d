//! The command `metaloc`.

fn main() {}
