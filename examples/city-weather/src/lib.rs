//! city-weather
