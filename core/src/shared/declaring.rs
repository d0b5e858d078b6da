//! A call as the scheduler sees it: its own options first, then its function's contract, then the pool's.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Duration;

use ganger_protocol::message::{Contract, Exclusive as Declared};
use ganger_scheduler::{Batch, CallId, CallSpec, Declaration, Input as News, Timestamp};

use super::ahead::may_lie;
use super::{Aftermath, Books, Shared};
use crate::call::Call;
use crate::error::Error;
use crate::options::{CallOptions, Exclusive, Limit};

/// Every Python worker has it: what it calls comes pickled with the input. No contract names it.
const PICKLED: &str = "ganger.run";

impl Shared {
    pub(super) fn spec(&self, asked: &Call, books: &Books, has_streams: bool) -> CallSpec {
        let (pool, call) = (&self.options, &asked.options);
        let contract = books.contract(&asked.function);
        let declared = declaration(asked, contract);
        let or = |limit: Option<Limit>, default| limit.map_or(default, Limit::duration);
        CallSpec {
            bytes: asked.input.payload.len() as u64,
            priority: call.priority,
            slots: declared.slots.unwrap_or(1),
            weight: call.weight.unwrap_or(1),
            idempotent: declared.idempotent,
            retries: call.retries.unwrap_or(pool.retries),
            queue_timeout: or(call.queue_timeout, pool.queue_timeout),
            timeout: match (call.timeout, declared.timeout) {
                (Some(limit), _) => limit.duration(),
                (None, Some(timeout)) => Some(timeout),
                (None, None) => pool.timeout,
            },
            deadline: or(call.deadline, pool.deadline),
            cancel_grace: call.cancel_grace.unwrap_or(pool.cancel_grace),
            affinity: call.affinity.as_deref().map(key),
            exclusive: declared.exclusive,
            pinned: None,
            batch: declared.batch.map(Box::new),
            ahead: may_lie(asked, has_streams) && (reads_no_inputs(contract) || &*asked.function == PICKLED),
        }
    }
}

impl Books {
    /// What a ready worker says of its functions holds for calls that were made before it could say so.
    pub(super) fn learn(&mut self, contracts: &[Contract], now: Timestamp, aftermath: &mut Aftermath) {
        let news = |known: &Contract| self.contracts.get(&known.name) != Some(known);
        if !contracts.iter().any(news) {
            return;
        }
        self.contracts = contracts.iter().map(|contract| (contract.name.clone(), contract.clone())).collect();
        self.refuse_inputs(now, aftermath);
        let open: Vec<(CallId, Declaration)> = self
            .calls
            .iter()
            .filter(|(_, pending)| self.contract(&pending.call.function).is_some())
            .map(|(id, pending)| (*id, declaration(&pending.call, self.contract(&pending.call.function))))
            .collect();
        for (call, declaration) in open {
            self.tell(now, News::Declare { call, declaration }, aftermath);
        }
    }

    /// What a worker says of a function. One of a single file goes by the file's name as well, which no contract names.
    pub(super) fn contract(&self, function: &str) -> Option<&Contract> {
        let bare = || self.contracts.get(function.rsplit_once('.')?.1);
        self.contracts.get(function).or_else(bare)
    }

    /// Whether a worker said that this function reads no input stream.
    pub(crate) fn reads_no_inputs(&self, function: &str) -> bool {
        reads_no_inputs(self.contract(function))
    }

    /// Calls that were made with an input stream before it was known that their functions read none.
    fn refuse_inputs(&mut self, now: Timestamp, aftermath: &mut Aftermath) {
        let refused: Vec<(CallId, Arc<str>)> = self
            .calls
            .iter()
            .filter(|(_, pending)| pending.streams.supply.is_some() && pending.assigned_at.is_none())
            .filter(|(_, pending)| self.reads_no_inputs(&pending.call.function))
            .map(|(id, pending)| (*id, Arc::clone(&pending.call.function)))
            .collect();
        for (call, function) in refused {
            self.give_up(call, Some(Box::new(Error::reads_no_inputs(&function))), now, aftermath);
        }
    }
}

/// What the call says for itself, else what its function says.
fn declaration(asked: &Call, contract: Option<&Contract>) -> Declaration {
    let options: &CallOptions = &asked.options;
    Declaration {
        idempotent: options
            .idempotent
            .unwrap_or_else(|| contract.is_some_and(|contract| contract.idempotent)),
        timeout: match options.timeout {
            Some(limit) => limit.duration(),
            None => contract.and_then(|contract| contract.timeout_ms).map(Duration::from_millis),
        },
        slots: options.slots.map(|slots| slots.get()).or(contract.map(|contract| contract.slots)),
        exclusive: match options.exclusive {
            Some(Exclusive::Node | Exclusive::Worker) => true,
            None => contract.is_some_and(|contract| match contract.exclusive {
                Some(Declared::Node | Declared::Worker) => true,
                None => false,
            }),
        },
        batch: contract.and_then(batch),
    }
}

/// Of a function that is not known it is not known either.
fn reads_no_inputs(contract: Option<&Contract>) -> bool {
    contract.is_some_and(|contract| contract.inputs.is_none())
}

/// Calls by either of a function's names go together: its contract has one.
fn batch(contract: &Contract) -> Option<Batch> {
    let declared = contract.batch?;
    let wait = Duration::from_millis(declared.wait_ms);
    Some(Batch { key: key(&contract.name), max: declared.max, wait })
}

/// The same text is the same key as long as the process lives.
fn key(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}
