//! The binary `ganger-shim`: the library with its arguments.

fn main() {
    std::process::exit(ganger_shim::run(std::env::args_os().skip(1)));
}
