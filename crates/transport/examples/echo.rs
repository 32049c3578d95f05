//! The smallest program on the standard streams: it says back every line that it hears.

use switchboard_transport::{Lines, stdio};
use tokio::io::AsyncWriteExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut pipe = stdio::pipe()?;
    let mut lines = Lines::new(1024 * 1024);
    while lines.fill(&mut pipe.reader).await? > 0 {
        let mut answer = Vec::new();
        while let Ok(Some(line)) = lines.next_line() {
            answer.extend_from_slice(&line);
            answer.push(b'\n');
        }
        pipe.writer.write_all(&answer).await?;
        pipe.writer.flush().await?;
    }
    Ok(())
}
