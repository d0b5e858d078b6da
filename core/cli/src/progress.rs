//! How far the call is: one line on stderr that is written over, if a person is looking.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use ganger::{Progress, ProgressObserver};

/// The line, written by a thread of its own: a terminal may be slow. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    news: Option<Sender<Progress>>,
    writer: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// None where nobody would see it.
    pub(crate) fn new() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let (news, heard) = channel();
        let writer = std::thread::spawn(move || write(&heard));
        Some(Self { news: Some(news), writer: Some(writer) })
    }

    /// What a call tells.
    pub(crate) fn observer(&self) -> Option<ProgressObserver> {
        let news = self.news.clone()?;
        Some(ProgressObserver::new(move |progress| drop(news.send(progress.clone()))))
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.news = None;
        if let Some(writer) = self.writer.take() {
            // It ends with the last observer, and a panic in it has been told already.
            let _ = writer.join();
        }
    }
}

fn write(heard: &Receiver<Progress>) {
    while let Ok(progress) = heard.recv() {
        // Only the latest matters.
        let latest = heard.try_iter().last().unwrap_or(progress);
        let _ = write!(io::stderr().lock(), "\r\x1b[K{}", text(&latest));
    }
    let _ = write!(io::stderr().lock(), "\r\x1b[K");
}

fn text(progress: &Progress) -> String {
    let Progress { done, total, note } = progress;
    let note = note.as_deref().map(|note| format!(" {note}")).unwrap_or_default();
    match total {
        Some(total) if *total > 0.0 => format!("{:3.0} %  {done}/{total}{note}", done / total * 100.0),
        Some(_) | None => format!("{done}{note}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_gives_a_share() {
        let progress = Progress { done: 1.0, total: Some(4.0), note: Some("loading".to_owned()) };
        assert_eq!(text(&progress), " 25 %  1/4 loading");
        assert_eq!(text(&Progress { done: 3.0, total: None, note: None }), "3");
    }
}
