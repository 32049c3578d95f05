//! The HTTP API of Open-Meteo, as far as it is needed here. It knows no MCP; its errors are sentences.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const GEOCODING: &str = "https://geocoding-api.open-meteo.com";
const FORECAST: &str = "https://api.open-meteo.com";

/// The two services: one finds places by name, the other knows their weather.
#[derive(Clone, Debug)]
pub struct Api {
    geocoding: String,
    forecast: String,
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    results: Vec<City>,
}

/// A place that was found.
#[derive(Deserialize)]
pub(crate) struct City {
    pub(crate) name: String,
    pub(crate) country: Option<String>,
    latitude: f64,
    longitude: f64,
}

#[derive(Deserialize)]
struct Forecast {
    current: Current,
}

/// The weather now.
#[derive(Deserialize)]
pub(crate) struct Current {
    pub(crate) time: String,
    pub(crate) temperature_2m: f64,
    pub(crate) relative_humidity_2m: f64,
    pub(crate) wind_speed_10m: f64,
}

#[derive(Deserialize)]
struct Refusal {
    reason: String,
}

impl Api {
    /// The usual services, or both below another URL.
    #[must_use]
    pub fn at(base_url: Option<&str>) -> Self {
        // Another part of the program may have chosen the provider already; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let at = |usual: &str| base_url.unwrap_or(usual).trim_end_matches('/').to_owned();
        // What is on this machine is reached without a proxy, whatever the environment says.
        let local = base_url.is_some_and(|base| base.starts_with("http://127.0.0.1:"));
        let http = match reqwest::Client::builder().no_proxy().build() {
            Ok(direct) if local => direct,
            _ => reqwest::Client::new(),
        };
        Self { geocoding: at(GEOCODING), forecast: at(FORECAST), http }
    }

    /// The best match for a name, if there is one.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<City>, String> {
        let url = format!("{}/v1/search", self.geocoding);
        let places: Places = self.fetch(&url, &[("name", name), ("count", "1")]).await?;
        Ok(places.results.into_iter().next())
    }

    /// The weather there, in the units that the API calls by these names.
    pub(crate) async fn current(&self, city: &City, degrees: &str, speed: &str) -> Result<Current, String> {
        let url = format!("{}/v1/forecast", self.forecast);
        let query = [
            ("latitude", city.latitude.to_string()),
            ("longitude", city.longitude.to_string()),
            ("current", "temperature_2m,relative_humidity_2m,wind_speed_10m".to_owned()),
            ("temperature_unit", degrees.to_owned()),
            ("wind_speed_unit", speed.to_owned()),
            ("timezone", "auto".to_owned()),
        ];
        self.fetch(&url, &query).await.map(|Forecast { current }| current)
    }

    async fn fetch<T: DeserializeOwned>(&self, url: &str, query: &impl Serialize) -> Result<T, String> {
        let sent = self.http.get(url).query(query).timeout(Duration::from_secs(10)).send().await;
        let response =
            sent.map_err(|_| "the weather service cannot be reached; try again later".to_owned())?;
        let status = response.status();
        if !status.is_success() {
            let reason =
                response.json().await.map_or_else(|_| "no reason".to_owned(), |Refusal { reason }| reason);
            return Err(format!("the weather service refused with {status}: {reason}"));
        }
        response.json().await.map_err(|_| "the weather service answered with something unreadable".to_owned())
    }
}
