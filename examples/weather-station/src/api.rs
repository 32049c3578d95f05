//! The station itself, simulated: an HTTP API whose `GET` returns the whole set of measurements,
//! nested by location, with a plausible curve over the day. It knows no MCP.

use std::convert::Infallible;
use std::f64::consts::TAU;
use std::io;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode, header, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves the station's API on a free loopback port and says where.
///
/// # Errors
/// When no port can be bound.
pub async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(connection);
        }
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = if request.method() == Method::GET {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        (StatusCode::OK, measurements(now).to_string())
    } else {
        (StatusCode::METHOD_NOT_ALLOWED, json!({ "error": "only GET" }).to_string())
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// All measurements at a Unix time in seconds.
#[must_use]
pub fn measurements(now: u64) -> Value {
    let balcony = Curve { mean: 9.0, swing: 4.5, peak_hour: 15.0 };
    let bedroom = Curve { mean: 18.4, swing: 0.9, peak_hour: 19.0 };
    let indoor = Curve { mean: 21.2, swing: 1.1, peak_hour: 18.0 };
    let rain = (wave(now, 4.0) - 0.6).max(0.0);
    let mut indoors = indoor.station(now);
    merge(
        &mut indoors,
        json!({
            "CO2": (620.0 + 180.0 * wave(now, 21.0)).round(),
            "Humidity": (44.0 - 4.0 * wave(now, 18.0)).round(),
            "Noise": (36.0 + 6.0 * wave(now, 20.0)).round(),
            "Pressure": round(1016.5 + 2.0 * wave(now, 9.0)),
            "AbsolutePressure": round(996.1 + 2.0 * wave(now, 9.0)),
            "pressure_trend": trend(now, 9.0),
            "wifi_status": 48,
        }),
    );
    let mut sleeping = bedroom.station(now);
    merge(
        &mut sleeping,
        json!({
            "CO2": (780.0 + 260.0 * wave(now, 5.0)).round(),
            "Humidity": (48.0 + 3.0 * wave(now, 5.0)).round(),
            "battery_vp": 5310, "battery_percent": 71, "rf_status": 62,
        }),
    );
    let mut outside = balcony.station(now);
    merge(
        &mut outside,
        json!({
            "Humidity": (72.0 - 14.0 * wave(now, 15.0)).round(),
            "battery_vp": 5120, "battery_percent": 58, "rf_status": 70,
        }),
    );
    json!({
        "Indoor": indoors,
        "Bedroom": sleeping,
        "Balcony": outside,
        "Rain": {
            "Rain": round(rain * 0.4), "sum_rain_1": round(rain * 0.8), "sum_rain_24": round(0.9 + rain),
            "battery_vp": 5480, "battery_percent": 83, "rf_status": 66, "When": now,
        },
    })
}

const DAY: u64 = 86_400;

struct Curve {
    mean: f64,
    swing: f64,
    peak_hour: f64,
}

impl Curve {
    fn station(&self, now: u64) -> Value {
        json!({
            "Temperature": round(self.mean + self.swing * wave(now, self.peak_hour)),
            "min_temp": round(self.mean - self.swing),
            "max_temp": round(self.mean + self.swing),
            "date_min_temp": last(now, (self.peak_hour + 12.0) % 24.0),
            "date_max_temp": last(now, self.peak_hour),
            "temp_trend": trend(now, self.peak_hour),
            "When": now,
        })
    }
}

/// The last time that it was this hour, UTC.
fn last(now: u64, hour: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a second of the day")]
    let today = now - now % DAY + (hour * 3600.0) as u64;
    if today > now { today - DAY } else { today }
}

/// From -1 to 1 over a day, with its top at `peak_hour` UTC.
fn wave(now: u64, peak_hour: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a second of the day")]
    let hour = (now % DAY) as f64 / 3600.0;
    ((hour - peak_hour) / 24.0 * TAU).cos()
}

fn trend(now: u64, peak_hour: f64) -> &'static str {
    match wave(now + 1800, peak_hour) - wave(now, peak_hour) {
        change if change > 0.03 => "up",
        change if change < -0.03 => "down",
        _ => "stable",
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
