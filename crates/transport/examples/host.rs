//! A program that starts a server and never ends it: what becomes of the server when such a program
//! is killed is up to the library.
//!
//! Usage: `host PROGRAM [ARGS…]`. Prints the server's process id and then its first line.

use std::time::Duration;

use switchboard_transport::Lines;
use switchboard_transport::child::{ChildCommand, Shutdown};
use tokio::io::AsyncWriteExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let program = args.next().ok_or("usage: host PROGRAM [ARGS…]")?;
    let shutdown =
        Shutdown { leave: Duration::from_secs(1), terminate: Duration::from_secs(1), ..Shutdown::default() };
    let (mut pipe, child) = ChildCommand::new(program).args(args).shutdown(shutdown).spawn()?;
    let mut lines = Lines::new(1024);
    lines.fill(&mut pipe.reader).await?;
    let first = lines.next_line()?.unwrap_or_default();
    let said = format!("{}\n{}\n", child.id(), String::from_utf8_lossy(&first));
    tokio::io::stdout().write_all(said.as_bytes()).await?;
    std::future::pending().await
}
