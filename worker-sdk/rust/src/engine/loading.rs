//! Between WELCOME and READY: the user's code and its start-up hooks.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ganger_protocol::message::{Contract, ErrorReport, Welcome};
use ganger_protocol::{Limits, VIOLATION_EXIT_CODE};

use super::{Engine, lock};
use crate::arena::Arenas;
use crate::context::{Place, StartContext};
use crate::error::report_panic;
use crate::function::Function;
use crate::state::StateType;
use crate::transport::ClaimsFile;
use crate::worker::{Load, Startup, start_report};

impl Engine {
    pub(super) fn load(&self, welcome: &Welcome, load: Load, startup: Vec<Startup>) {
        self.place.get_or_init(|| Place::from(welcome));
        if let Some(offered) = &welcome.shared_memory {
            match Arenas::open(offered, welcome.max_payload) {
                Ok(arenas) => drop(self.arenas.set(arenas)),
                Err(error) => leave(&format!("the arenas that WELCOME names cannot be used: {error}")),
            }
        }
        if let Some(number) = welcome.claims_fd {
            match ClaimsFile::open(number) {
                Ok(claims) => lock(&self.state).session.claims_from(Box::new(claims)),
                Err(error) => leave(&format!("the claims that WELCOME names cannot be used: {error}")),
            }
        }
        lock(&self.data_reader).set_limits(Limits { max_payload: welcome.max_payload, ..Limits::default() });
        let start = StartContext { engine: self };
        let (mut contracts, mut states) = (Vec::new(), Vec::new());
        match catch_unwind(AssertUnwindSafe(|| load(&start))) {
            Ok(Ok(functions)) => (contracts, states) = self.offer(functions),
            Ok(Err(report)) => self.load_failed(*report),
            Err(panic) => self.load_failed(report_panic(&*panic)),
        }
        for hook in startup {
            match catch_unwind(AssertUnwindSafe(|| hook(&start))) {
                Ok(Ok(())) => {}
                Ok(Err((error, type_name))) => self.load_failed(start_report(&error, type_name)),
                Err(panic) => self.load_failed(report_panic(&*panic)),
            }
        }
        let misfit = contracts
            .iter()
            .zip(states)
            .find_map(|(contract, state)| state?.misfit(&contract.name, self.shared()));
        if let Some(report) = misfit {
            self.load_failed(report);
        }
        self.act(|state| state.session.loaded(contracts));
    }

    /// Their contracts, and the state that each takes.
    fn offer(&self, functions: Vec<Function>) -> (Vec<Contract>, Vec<Option<StateType>>) {
        let said = functions.iter().map(|function| (function.contract.clone(), function.state)).unzip();
        let bodies = functions.into_iter().map(|function| (function.contract.name, function.body));
        self.functions.get_or_init(|| bodies.collect());
        said
    }

    /// Ends the process.
    fn load_failed(&self, report: ErrorReport) {
        self.act(|state| state.session.load_failed(report));
    }
}

/// The worker cannot go on as the protocol asks (R40).
fn leave(complaint: &str) {
    drop(writeln!(std::io::stderr(), "ganger-worker: {complaint}"));
    std::process::exit(VIOLATION_EXIT_CODE);
}
