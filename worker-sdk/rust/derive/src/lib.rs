//! The attribute that makes a function one of a [Ganger](https://docs.rs/ganger) worker. Use it through the
//! crate `ganger-worker` with its feature `derive`; it is described there.

mod action;
mod promises;

use proc_macro::TokenStream;

/// Makes a function one that every `Worker::actions()` of the program offers; see there.
#[proc_macro_attribute]
pub fn action(arguments: TokenStream, item: TokenStream) -> TokenStream {
    action::expand(arguments.into(), item.into()).into()
}
