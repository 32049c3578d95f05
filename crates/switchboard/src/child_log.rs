//! What child processes write to stderr, line by line on the screen, for `-v`.

use switchboard_agent::visible;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::screen::Screen;

/// Lines that wait to be shown. A child that writes faster loses lines here, not time.
const WAITING: usize = 256;

/// Shows the lines of one child as `NAME| …` until it is gone.
pub(crate) fn relay(name: &str, screen: &Screen) -> (mpsc::Sender<String>, JoinHandle<()>) {
    let (lines, mut arriving) = mpsc::channel::<String>(WAITING);
    let (name, screen) = (name.to_owned(), screen.clone());
    let shown = tokio::spawn(async move {
        while let Some(line) = arriving.recv().await {
            screen.labelled(&format!("{name}|"), &visible::line(&line));
        }
    });
    (lines, shown)
}
