//! The weather station as a client sees it, and the simulated station behind it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_client::{CallError, Client};
use weather_station::{Place, api};

const DAY: u64 = 86_400;

#[test]
fn the_simulated_station_is_plausible_at_every_hour() {
    for now in (1_700_000_000..1_700_000_000 + DAY).step_by(600) {
        let places: BTreeMap<String, Place> = serde_json::from_value(api::measurements(now)).unwrap();
        assert_eq!(places.keys().collect::<Vec<_>>(), ["Balcony", "Bedroom", "Indoor", "Rain"]);
        for (name, place) in places.iter().filter(|(name, _)| *name != "Rain") {
            let [now, low, high] = [place.temperature, place.min_temp, place.max_temp].map(Option::unwrap);
            assert!(low <= now && now <= high, "{name}: {low} {now} {high}");
            assert!((0.0..=100.0).contains(&place.humidity.unwrap()), "{name}");
            let at = |time: Option<i64>| u64::try_from(time.unwrap()).unwrap();
            assert!(at(place.date_max_temp) <= at(Some(place.when)), "{name}: the warmest moment is past");
            assert!(at(place.date_min_temp) <= at(Some(place.when)), "{name}: the coldest moment is past");
        }
        assert!(places["Rain"].rain.unwrap() >= 0.0);
    }
}

#[tokio::test]
async fn the_climate_is_what_the_station_measures() {
    let station = api::start().await.unwrap();
    let server = weather_station::server(&format!("http://{station}/")).unwrap();
    let client = Client::builder().in_process(&server).await.unwrap();
    let places: BTreeMap<String, Place> = client.call_as("get_climate", &json!({})).await.unwrap();
    assert!(places["Indoor"].co2.is_some() && places["Indoor"].pressure.is_some());
    assert!(places["Bedroom"].battery_percent.is_some());
    assert!(places["Rain"].sum_rain_24.is_some());
    let measured = api::measurements(u64::try_from(places["Balcony"].when).unwrap());
    assert_eq!(serde_json::to_value(&places).unwrap(), measured, "nothing is lost on the way");
}

#[tokio::test]
async fn the_station_answers_with_plain_http() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let station = api::start().await.unwrap();
    let url = format!("http://{station}/");
    let measured: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
    assert!(measured["Indoor"]["Temperature"].is_number());
    let refused = reqwest::Client::new().post(&url).send().await.unwrap();
    assert_eq!(refused.status(), 405);
}

#[tokio::test]
async fn a_station_that_is_off_is_a_failure_of_the_tool() {
    let server = weather_station::server("http://127.0.0.1:9/").unwrap();
    let client = Client::builder().in_process(&server).await.unwrap();
    let error = client.call_as::<Value>("get_climate", &json!({})).await.unwrap_err();
    assert!(matches!(&error, CallError::Tool(failure) if failure.text().contains("switched on")), "{error}");
}

#[tokio::test]
async fn the_program_speaks_stdio() {
    let client = Client::builder().command(env!("CARGO_BIN_EXE_weather-station"), [""; 0]).await.unwrap();
    let tools = client.tools().await.unwrap();
    assert_eq!(tools[0].name, "get_climate");
    assert!(tools[0].description.as_deref().unwrap().contains("Balcony"));
    let places: BTreeMap<String, Place> = client.call_as("get_climate", &json!({})).await.unwrap();
    assert_eq!(places.len(), 4);
    client.close().await;
}
