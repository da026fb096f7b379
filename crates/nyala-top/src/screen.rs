// SPDX-License-Identifier: Apache-2.0

//! The terminal: what is drawn, and which keys are pressed. Failure model: see the crate.

use crate::logic::key::Key;
use crate::logic::lines::draw;
use crate::logic::tab::Tab;
use crate::logic::view::View;
use crate::looks::Looks;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::cell::Cell;
use std::io::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// How often the thread that reads keys looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// Something that the terminal says.
enum Said {
    Key(Key),
    /// Its size is another one.
    Resized,
    /// Ctrl-C, or there is no terminal any more.
    End,
}

/// Gives the terminal back.
struct Restored(Arc<AtomicBool>);

impl Drop for Restored {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        ratatui::restore();
    }
}

/// Shows it until a key ends it, or so many looks have been taken. In a `LocalSet`.
pub async fn run(mut looks: Looks, cluster: &str, tab: Tab, interval: Duration, count: u64) -> Result<(), Error> {
    let mut view = View::new(tab);
    let mut terminal = ratatui::try_init()?;
    let over = Arc::new(AtomicBool::new(false));
    let _restored = Restored(over.clone());
    let (tell, mut said) = mpsc::channel(64);
    std::thread::Builder::new().name("nyala-keys".into()).spawn(move || read(&tell, &over))?;
    // Beside the keys, none of which may end a look that is under way.
    let (look, mut looked) = mpsc::channel(1);
    let wanted = Rc::new(Cell::new(tab));
    let tab = wanted.clone();
    tokio::task::spawn_local(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first comes at once, when nothing was done yet.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if look.send(looks.next(tab.get()).await).await.is_err() {
                return;
            }
        }
    });
    let mut shown = 0;
    while shown < count {
        show(&mut terminal, &view, cluster)?;
        tokio::select! {
            Some(tables) = looked.recv() => {
                view.tables(tables);
                shown += 1;
            }
            said = said.recv() => match said {
                Some(Said::Key(key)) if !view.press(key) => {}
                Some(Said::Resized) => {}
                Some(Said::Key(_) | Said::End) | None => break,
            },
        }
        wanted.set(view.tab);
    }
    show(&mut terminal, &view, cluster)
}

fn show(terminal: &mut DefaultTerminal, view: &View, cluster: &str) -> Result<(), Error> {
    terminal.draw(|frame| draw(frame, view, cluster)).map(drop)
}

fn read(tell: &mpsc::Sender<Said>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let said = match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => event::read().map_or(Some(Said::End), meaning),
            Err(_) => Some(Said::End),
        };
        let Some(said) = said else { continue };
        let end = matches!(said, Said::End);
        if tell.blocking_send(said).is_err() || end {
            return;
        }
    }
}

fn meaning(event: Event) -> Option<Said> {
    let key = match event {
        Event::Resize(..) => return Some(Said::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        _ => return None,
    };
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Said::End);
    }
    Some(Said::Key(match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    }))
}
