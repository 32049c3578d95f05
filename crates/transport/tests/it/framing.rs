//! What a client makes of what its server writes, through the whole driver: characters cut by reads, lines of
//! every size, and lines without end.

use serde::Deserialize;
use serde_json::json;
use switchboard_protocol::frame::encode_request;
use switchboard_protocol::session::{Delivery, End, Opening};
use switchboard_transport::{Disconnected, Pipe, PipeClient, PipeExchange, PipeOptions};
use tokio::io::AsyncWriteExt;

use crate::data::rows;

async fn open(client: &PipeClient) -> PipeExchange {
    client.open(Opening::default(), |id, out| encode_request(out, id, "x/call", &json!({}))).await.unwrap()
}

#[derive(Deserialize)]
struct Characters {
    name: String,
    line: String,
    /// Bytes after the line's text that are no UTF-8, and what follows them.
    #[serde(default)]
    hex: String,
    #[serde(default)]
    rest: String,
    text: Option<String>,
}

impl Characters {
    fn bytes(&self, id: &str) -> Vec<u8> {
        let hex = self.hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        let broken = hex.map(|pair| u8::from_str_radix(pair, 16).unwrap());
        let mut bytes = self.line.replace("$id", id).into_bytes();
        bytes.extend(broken);
        bytes.extend_from_slice(self.rest.as_bytes());
        bytes.push(b'\n');
        bytes
    }

    fn check(&self, end: &End, cut: usize) {
        let name = &self.name;
        match (end, &self.text) {
            (End::Result(result), Some(text)) => {
                let result: serde_json::Value = serde_json::from_str(result.get()).unwrap();
                assert_eq!(result["text"].as_str(), Some(text.as_str()), "{name}, cut at {cut}");
            }
            (End::Malformed(message), None) => assert!(message.contains("UTF-8"), "{name}: {message}"),
            _ => panic!("{name}, cut at {cut}: {end:?}"),
        }
    }
}

#[tokio::test]
async fn characters_survive_every_cut_and_broken_ones_are_reported() {
    for row in rows::<Characters>(include_str!("../data/cut_characters.json"), "lines") {
        let (here, mut there) = Pipe::in_memory(4096);
        let client = PipeClient::new(here, PipeOptions::default());
        let length = row.bytes("1").len();
        // The last round writes byte by byte.
        for cut in 0..=length + 1 {
            let exchange = open(&client).await;
            let bytes = row.bytes(&exchange.id().to_string());
            let size = if cut > length { 1 } else { cut.clamp(1, length) };
            for (index, piece) in bytes.chunks(size).enumerate() {
                if index < 2 || size == 1 {
                    tokio::task::yield_now().await;
                }
                there.writer.write_all(piece).await.unwrap();
            }
            row.check(&exchange.ended().await, cut);
        }
    }
}

#[derive(Deserialize)]
struct Stream {
    name: String,
    /// The sizes of the texts of the answers that are written at once.
    texts: Vec<usize>,
    /// Whether bytes without a line end follow for ever.
    #[serde(default)]
    endless: bool,
    /// Whether a line was too long although it ended.
    #[serde(default)]
    too_long: bool,
    delivered: usize,
}

impl Stream {
    fn written(&self) -> Vec<u8> {
        let answer = |(index, size): (usize, &usize)| {
            let text = "a".repeat(*size);
            format!("{}\n", json!({"jsonrpc": "2.0", "id": index + 1, "result": {"text": text}}))
        };
        self.texts.iter().enumerate().map(answer).collect::<String>().into_bytes()
    }

    async fn play(&self, limit: usize) {
        let name = &self.name;
        let (here, mut there) = Pipe::in_memory(1 << 16);
        let client = PipeClient::new(here, PipeOptions { line_bytes: limit, ..PipeOptions::default() });
        let mut open_exchanges = Vec::new();
        // One more than is answered, which must not wait for ever.
        for _ in 0..=self.texts.len() {
            open_exchanges.push(open(&client).await);
        }
        let (written, endless) = (self.written(), self.endless);
        let complete = written.len();
        let writing = tokio::spawn(async move {
            let mut taken = there.writer.write(&written).await.unwrap();
            while taken < written.len() || endless {
                let piece = written.get(taken..).filter(|rest| !rest.is_empty()).unwrap_or(&[b'x'; 4096]);
                match there.writer.write(piece).await {
                    Ok(count) if count > 0 => taken += count,
                    _ => break,
                }
            }
            (taken, there)
        });
        let mut ends = Vec::new();
        let waiting = open_exchanges.split_off(self.delivered);
        for exchange in open_exchanges {
            ends.push(exchange.ended().await);
        }
        for (end, size) in ends.iter().zip(&self.texts) {
            assert!(matches!(end, End::Result(result) if result.get().len() > *size), "{name}: {end:?}");
        }
        if self.endless || self.too_long {
            for exchange in waiting {
                let end = exchange.ended().await;
                assert!(matches!(end, End::ConnectionLost(Delivery::MaybeExecuted)), "{name}: {end:?}");
            }
            let end = client.disconnected().await;
            assert_eq!(end, Disconnected::LineTooLong { limit }, "{name}");
            assert!(end.to_string().contains(&limit.to_string()), "{name}: the error names the limit: {end}");
            let (taken, _) = writing.await.unwrap();
            assert!(taken < complete + limit + (1 << 18), "{name}: {taken} bytes were taken");
        } else {
            writing.await.unwrap();
            assert_eq!(client.disconnected().await, Disconnected::EndOfStream, "{name}: the writer has left");
        }
    }
}

#[tokio::test]
async fn long_lines_arrive_whole_and_lines_without_end_end_the_connection() {
    let text = include_str!("../data/long_lines.json");
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    let limit = usize::try_from(file["limit"].as_u64().unwrap()).unwrap();
    for stream in rows::<Stream>(text, "streams") {
        stream.play(limit).await;
    }
}
