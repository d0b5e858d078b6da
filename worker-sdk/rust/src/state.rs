//! What all functions of a worker share: loaded once, before its first call.

use std::any::{Any, TypeId, type_name};
use std::ops::Deref;
use std::sync::Arc;

use ganger_protocol::message::{ErrorReport, code};

use crate::context::{Context, StartContext};
use crate::error::BoxError;
use crate::function::Declaration;
use crate::streams::Part;
use crate::worker::Worker;

/// What the calls of a worker share, as [`Worker::state`] loaded it. A function has it by taking it as a
/// parameter. A clone is the same state.
///
/// Calls run side by side, so it is `Send + Sync`; what changes is behind a lock.
///
/// ```no_run
/// # use ganger_worker::{BoxError, State, Worker};
/// struct Model { weights: Vec<f64> }
///
/// fn predict(x: f64, model: State<Model>) -> f64 {
///     model.weights.iter().map(|weight| weight * x).sum()
/// }
///
/// Worker::new()
///     .state(|_| Ok::<_, BoxError>(Model { weights: vec![1.0; 1 << 20] }))
///     .function("predict", predict)
///     .run()
/// ```
///
/// The compiler refuses what threads cannot share:
///
/// ```compile_fail,E0277
/// # use ganger_worker::{BoxError, Worker};
/// Worker::new().state(|_| Ok::<_, BoxError>(std::cell::Cell::new(0)));
/// ```
#[derive(Debug)]
pub struct State<T> {
    shared: Arc<T>,
}

/// The state of a worker, whatever its type.
pub(crate) struct Shared {
    value: Arc<dyn Any + Send + Sync>,
    type_name: &'static str,
}

/// The state that a function takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateType {
    id: TypeId,
    name: &'static str,
}

impl Worker {
    /// Loads what all functions share, among the start-up hooks, in the order given; they take it as [`State`].
    /// A worker has one state. If loading fails, the worker does not start, and callers see the error.
    ///
    /// # Panics
    /// If there is a state already.
    pub fn state<F, T, E>(mut self, load: F) -> Self
    where
        F: FnOnce(&StartContext<'_>) -> Result<T, E> + Send + 'static,
        T: Send + Sync + 'static,
        E: Into<BoxError> + 'static,
    {
        assert!(!self.has_state, "a worker has one state: a struct holds several things");
        self.has_state = true;
        self.startup.push(Box::new(move |start| {
            let value = load(start).map_err(|error| (error.into(), type_name::<E>()))?;
            let shared = Shared { value: Arc::new(value), type_name: type_name::<T>() };
            start.engine.share(shared);
            Ok(())
        }));
        self
    }
}

impl<T: Send + Sync + 'static> Part for State<T> {
    fn of(context: &Context) -> Self {
        let shared = context.engine.shared().and_then(|shared| Arc::downcast(Arc::clone(&shared.value)).ok());
        Self { shared: shared.expect("a worker starts only with the state that its functions take") }
    }

    fn declare(declaration: &mut Declaration) {
        declaration.state = Some(StateType { id: TypeId::of::<T>(), name: type_name::<T>() });
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.shared
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl StateType {
    /// What is wrong if a worker with this state offers a function that takes this one.
    pub(crate) fn misfit(self, function: &str, shared: Option<&Shared>) -> Option<ErrorReport> {
        let there_is = match shared {
            Some(shared) if (*shared.value).type_id() == self.id => return None,
            Some(shared) => format!("the worker's state is {}", shared.type_name),
            None => "the worker has no state".to_owned(),
        };
        let message = format!("{function} takes State<{}>, but {there_is}", self.name);
        Some(ErrorReport::new(code::START_FAILED, "State", message))
    }
}
