//! How far the call is: one line on stderr that is written over, if a person is looking.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use ganger::{Progress, ProgressObserver};

/// The line, written by a thread of its own: a terminal may be slow.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    /// None where nobody would see it.
    news: Option<Sender<News>>,
}

#[derive(Debug)]
enum News {
    Progress(Progress),
    /// Take the line away, and say when it is gone.
    Hide(Sender<()>),
}

impl ProgressLine {
    /// On this stderr, unless nobody wants to see it.
    pub(crate) fn new(quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Self { news: None };
        }
        let (news, heard) = channel();
        std::thread::spawn(move || write(&heard));
        Self { news: Some(news) }
    }

    /// What a call tells.
    pub(crate) fn observer(&self) -> Option<ProgressObserver> {
        let news = self.news.clone()?;
        Some(ProgressObserver::new(move |progress| drop(news.send(News::Progress(progress.clone())))))
    }

    /// Makes room for something else.
    pub(crate) fn hide(&self) {
        let Some(news) = &self.news else { return };
        let (sender, hidden) = channel();
        if news.send(News::Hide(sender)).is_ok() {
            // The thread lives as long as there is somebody who sends.
            let _ = hidden.recv();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.hide();
    }
}

fn write(heard: &Receiver<News>) {
    while let Ok(first) = heard.recv() {
        let mut latest = None;
        for news in std::iter::once(first).chain(heard.try_iter()) {
            match news {
                News::Progress(progress) => latest = Some(progress),
                News::Hide(hidden) => {
                    latest = None;
                    let _ = write!(io::stderr().lock(), "\r\x1b[K");
                    let _ = hidden.send(());
                }
            }
        }
        if let Some(progress) = latest {
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", text(&progress));
        }
    }
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
