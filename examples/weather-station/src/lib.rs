//! An MCP server in front of a weather station's HTTP API: one tool, no arguments, structured
//! output. [`api`] is the station itself, simulated.

pub mod api;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{BuildError, Builder, Json, Say as _, Server, State, Tool, ToolError};

/// What one place measures. A place has the fields that its sensor has.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Air temperature in °C.
    #[serde(rename = "Temperature", skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The lowest temperature of the day in °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_temp: Option<f64>,
    /// The highest temperature of the day in °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_temp: Option<f64>,
    /// When it was coldest, as Unix time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_min_temp: Option<i64>,
    /// When it was warmest, as Unix time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_max_temp: Option<i64>,
    /// up, down or stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp_trend: Option<String>,
    /// Carbon dioxide in ppm.
    #[serde(rename = "CO2", skip_serializing_if = "Option::is_none")]
    pub co2: Option<f64>,
    /// Relative humidity in percent.
    #[serde(rename = "Humidity", skip_serializing_if = "Option::is_none")]
    pub humidity: Option<f64>,
    /// Noise in dB.
    #[serde(rename = "Noise", skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// Pressure at sea level in mbar.
    #[serde(rename = "Pressure", skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    /// Pressure at the station in mbar.
    #[serde(rename = "AbsolutePressure", skip_serializing_if = "Option::is_none")]
    pub absolute_pressure: Option<f64>,
    /// up, down or stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure_trend: Option<String>,
    /// Rain now in mm.
    #[serde(rename = "Rain", skip_serializing_if = "Option::is_none")]
    pub rain: Option<f64>,
    /// Rain of the last hour in mm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_rain_1: Option<f64>,
    /// Rain of the last 24 hours in mm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_rain_24: Option<f64>,
    /// Signal of the WLAN; smaller is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi_status: Option<i64>,
    /// Signal of the radio; smaller is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rf_status: Option<i64>,
    /// Battery voltage in mV.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_vp: Option<i64>,
    /// Battery charge in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_percent: Option<i64>,
    /// When this was measured, as Unix time in seconds.
    #[serde(rename = "When")]
    pub when: i64,
}

const DESCRIPTION: &str = "\
The climate at home right now, from the weather station: temperature, humidity, air quality, \
pressure, noise and rain. Takes no arguments and returns everything at once, by location: \
Indoor (the main station in the living room: also CO2, Noise, Pressure, wifi_status), Bedroom \
(also CO2), Balcony (outdoors: how warm or cold it is outside) and Rain (the rain gauge: Rain now, \
sum_rain_1 for the last hour, sum_rain_24 for the last day, in mm). Temperature, min_temp and \
max_temp are in degrees Celsius; date_min_temp, date_max_temp and When are Unix times in seconds; \
temp_trend and pressure_trend are up, down or stable; Humidity and battery_percent are percent; CO2 \
is ppm; Pressure and AbsolutePressure are mbar. Use it for any question about how warm, cold, \
humid, stuffy, loud or rainy it is here.";

/// The MCP server in front of the station at `url`.
///
/// # Errors
/// When the server's definition is faulty, naming every fault.
pub fn server(url: &str) -> Result<Server, BuildError> {
    builder().build(Station::at(url))
}

/// What the server is made of, for whoever wants it in another way.
pub fn builder() -> Builder<Station> {
    Server::builder("weather-station", env!("CARGO_PKG_VERSION")).tool(
        Tool::new("get_climate", get_climate).title("Climate at home").describe(DESCRIPTION).read_only(),
    )
}

/// Where the station is, and how it is asked.
#[derive(Clone, Debug)]
pub struct Station {
    url: String,
    http: reqwest::Client,
}

impl Station {
    /// The station at `url`.
    #[must_use]
    pub fn at(url: &str) -> Self {
        // Another part of the program may have chosen the provider already; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url: url.to_owned(), http: reqwest::Client::new() }
    }
}

async fn get_climate(State(station): State<Station>) -> Result<Json<BTreeMap<String, Place>>, ToolError> {
    let response = station.http.get(&station.url).timeout(Duration::from_secs(10)).send().await;
    let response = response.say("the weather station does not answer; check that it is switched on")?;
    let places = response.error_for_status().say("the weather station refused to answer")?.json().await;
    Ok(Json(places.say("the weather station answered with something unreadable")?))
}
