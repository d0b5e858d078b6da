//! What every file of the house keeps to, each law a test that names the lines which break it.

mod arrows;
mod circles;
mod faults;
mod functions;
mod licences;
mod links;
mod manifests;
mod names;
mod purity;
mod rooms;
mod safety;
mod sizes;
mod tree;
mod twins;

/// Fails with every violation, one a line.
fn assert_kept(law: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{law}\n{} broken:\n  {}", violations.len(), violations.join("\n  "));
}
