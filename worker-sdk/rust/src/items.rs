//! What a function may return that answers with many values: an iterator, a collection, or a `Result` of one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use crate::error::BoxError;

/// What a function may return that answers with many values: an iterator, a collection of the standard library, or
/// a `Result` of one with an error of any type. Of a type that is none of them, return its `into_iter()`. Nothing at
/// all is an empty stream, or what a [`Sender`](crate::Sender) sent.
// Not every `IntoIterator`: a `Result` is one, of no items where it is an error, which would be lost.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no iterator, no collection of the standard library, and no `Result` of one",
    note = "return its `.into_iter()` or `.iter()`"
)]
pub trait Items<Marker> {
    /// One of them.
    type Item;

    /// The items, or the error and the name of its type.
    ///
    /// # Errors
    /// The function's own error.
    fn into_items(self) -> Result<impl Iterator<Item = Self::Item>, (BoxError, &'static str)>;
}

#[doc(hidden)]
pub enum Iterating {}
#[doc(hidden)]
pub enum Collected {}
#[doc(hidden)]
pub enum Nothing {}
#[doc(hidden)]
pub struct Fallible<Marker>(std::marker::PhantomData<Marker>);

impl<I: Iterator> Items<Iterating> for I {
    type Item = I::Item;

    fn into_items(self) -> Result<impl Iterator<Item = I::Item>, (BoxError, &'static str)> {
        Ok(self)
    }
}

impl<I: Items<M>, M, E: Into<BoxError> + 'static> Items<Fallible<M>> for Result<I, E> {
    type Item = I::Item;

    fn into_items(self) -> Result<impl Iterator<Item = I::Item>, (BoxError, &'static str)> {
        match self {
            Ok(items) => items.into_items(),
            Err(error) => Err((error.into(), std::any::type_name::<E>())),
        }
    }
}

impl Items<Nothing> for () {
    type Item = ();

    fn into_items(self) -> Result<impl Iterator<Item = ()>, (BoxError, &'static str)> {
        Ok(std::iter::empty())
    }
}

macro_rules! collections {
    ($( [$($parameters:tt)*] $collection:ty, )+) => { $(
        impl<$($parameters)*> Items<Collected> for $collection {
            type Item = <Self as IntoIterator>::Item;

            fn into_items(self) -> Result<impl Iterator<Item = Self::Item>, (BoxError, &'static str)> {
                Ok(self.into_iter())
            }
        }
    )+ };
}

collections! {
    [T] Vec<T>,
    [T] Option<T>,
    [T] VecDeque<T>,
    [T] BTreeSet<T>,
    [T, S] HashSet<T, S>,
    [K, V] BTreeMap<K, V>,
    [K, V, S] HashMap<K, V, S>,
    [T, const LENGTH: usize] [T; LENGTH],
}
