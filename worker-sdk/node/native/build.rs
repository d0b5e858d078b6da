//! Tells the linker that Node.js itself provides its functions.

fn main() {
    napi_build::setup();
}
