//! One lane of a link as the reactor, or a task, reads it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use ganger_protocol::{Lane, Limits};
use tokio::sync::watch;

use super::inbox::{Inbox, Turn};
use super::{Link, Listener};
use crate::reactor::Source;

pub(super) struct Reader {
    link: Arc<Link>,
    lane: Lane,
    inbox: Mutex<Inbox>,
    listener: Arc<dyn Listener>,
    over: watch::Sender<bool>,
}

impl Reader {
    pub(super) fn new(link: Arc<Link>, lane: Lane, limits: Limits, listener: Arc<dyn Listener>) -> Self {
        let inbox = Mutex::new(Inbox::new(lane, limits));
        Self { link, lane, inbox, listener, over: watch::Sender::new(false) }
    }

    /// Waits until the lane is read to its end.
    pub(super) async fn ended(&self) {
        // The sender lives as long as this does.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

impl Source for Reader {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.link.end(self.lane).socket.as_fd()
    }

    fn read(&self) -> Turn {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let end = self.link.end(self.lane);
        let turn = inbox.read(&end.socket, &*self.listener);
        if inbox.left_unread() {
            end.left_unread.store(true, Ordering::Release);
        }
        turn
    }

    fn end(&self) {
        self.over.send_replace(true);
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("lane", &self.lane).finish_non_exhaustive()
    }
}
