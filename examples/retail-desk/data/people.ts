/** Words from which the invented customers and their addresses are put together. */
export const FIRST_NAMES =
  "Ada Bela Cora Dario Edda Farid Greta Hana Ilse Jonas Kira Lars Mina Nils Odile Pavel Quentin Rosa Selim Tilda Umar Vera Wanda Xenia Yusuf Zora".split(
    " ",
  );

export const LAST_NAMES =
  "Aldous Birk Castell Dunmore Ekdal Farrow Gandy Hollis Imre Jarvik Kestrel Lomax Marden Nyberg Okafor Pell Quist Rusk Sorley Tamm Ulrich Vance Wexler Yarrow Zeller".split(
    " ",
  );

export const STREETS = [
  "Copper Row",
  "Ferry Street",
  "Lantern Way",
  "Mill Yard",
  "Orchard Rise",
  "Quarry Road",
  "Tannery Lane",
];

export const CITIES = [
  { city: "Boise", state: "ID", zip: "837" },
  { city: "Duluth", state: "MN", zip: "558" },
  { city: "Eugene", state: "OR", zip: "974" },
  { city: "Laredo", state: "TX", zip: "780" },
  { city: "Mobile", state: "AL", zip: "366" },
  { city: "Portland", state: "ME", zip: "041" },
  { city: "Tucson", state: "AZ", zip: "857" },
];
