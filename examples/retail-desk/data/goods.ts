/** A product of the invented shop: its name, the average price of its variants, and their options. */
export interface Good {
  name: string;
  price: number;
  choices: Record<string, string[]>;
}

const color = ["graphite", "sand", "moss", "coral", "navy"];
const size = ["S", "M", "L", "XL"];
const wood = ["oak", "ash", "walnut"];
const finish = ["matt", "glossy"];
const capacity = ["0.5 L", "1 L", "1.5 L"];

export const GOODS: Good[] = [
  { name: "Rain Poncho", price: 62, choices: { color, size } },
  { name: "Canvas Tent", price: 689, choices: { persons: ["2", "4", "6"], color } },
  { name: "Cast Iron Pan", price: 74, choices: { diameter: ["20 cm", "26 cm", "30 cm"], handle: ["iron", "beech"] } },
  { name: "Cargo Bike", price: 2380, choices: { color, motor: ["none", "hub", "mid-drive"] } },
  { name: "Adjustable Desk", price: 2440, choices: { top: wood, width: ["120 cm", "160 cm"] } },
  { name: "Pocket Knife", price: 46, choices: { blades: ["3", "7", "12"], grip: wood } },
  { name: "Film Scanner", price: 2890, choices: { resolution: ["4800 dpi", "9600 dpi"], color } },
  { name: "Bread Machine", price: 212, choices: { capacity: ["500 g", "750 g", "1 kg"], color } },
  { name: "Field Watch", price: 1930, choices: { strap: ["leather", "nylon", "steel"], dial: color } },
  { name: "Wool Blanket", price: 118, choices: { color, size: ["single", "double"] } },
  { name: "Fountain Pen", price: 96, choices: { nib: ["fine", "medium", "broad"], color } },
  { name: "Paper Planner", price: 31, choices: { binding: ["thread", "spiral"], layout: ["daily", "weekly"], color } },
  { name: "Rowing Machine", price: 2740, choices: { resistance: ["water", "air"], frame: wood } },
  { name: "Ceiling Lamp", price: 163, choices: { color, diameter: ["30 cm", "50 cm"] } },
  { name: "Moka Pot", price: 58, choices: { cups: ["3", "6", "9"], material: ["aluminium", "steel"] } },
  { name: "Studio Monitor", price: 512, choices: { woofer: ["5 inch", "7 inch", "8 inch"], color } },
  { name: "Turntable", price: 934, choices: { drive: ["belt", "direct"], plinth: wood } },
  { name: "Snow Shoes", price: 187, choices: { size, binding: ["strap", "ratchet"] } },
  { name: "Climbing Rope", price: 204, choices: { length: ["40 m", "60 m", "80 m"], color } },
  { name: "Picnic Basket", price: 83, choices: { persons: ["2", "4"], lining: color } },
  { name: "Travel Kettle", price: 49, choices: { capacity, color } },
  { name: "Sewing Machine", price: 618, choices: { stitches: ["40", "80", "200"], color } },
  { name: "Bird Feeder", price: 42, choices: { roof: ["tin", "wood"], color } },
  { name: "Kitchen Scale", price: 37, choices: { maximum: ["5 kg", "10 kg"], finish } },
  { name: "Folding Chair", price: 92, choices: { frame: ["steel", "aluminium"], fabric: color } },
  { name: "Garden Bench", price: 418, choices: { wood, length: ["120 cm", "180 cm"] } },
  {
    name: "Telescope",
    price: 3050,
    choices: { aperture: ["130 mm", "150 mm", "200 mm"], mount: ["dobson", "equatorial"] },
  },
  { name: "Ukulele", price: 174, choices: { body: wood, scale: ["soprano", "concert", "tenor"] } },
  {
    name: "Board Game",
    price: 54,
    choices: { edition: ["classic", "travel"], language: ["English", "Spanish", "French"] },
  },
  { name: "Yarn Set", price: 33, choices: { fibre: ["wool", "cotton", "alpaca"], palette: ["earth", "sea", "berry"] } },
  { name: "Pasta Roller", price: 129, choices: { width: ["150 mm", "180 mm"], color } },
  { name: "Wine Cooler", price: 786, choices: { bottles: ["12", "24", "48"], door: ["glass", "steel"] } },
  { name: "Inflatable Kayak", price: 559, choices: { seats: ["1", "2"], color } },
  { name: "Trail Camera", price: 246, choices: { flash: ["infrared", "white"], storage: ["32 GB", "128 GB"], color } },
  { name: "Drawing Tablet", price: 398, choices: { area: ["small", "medium", "large"], color } },
  { name: "Label Printer", price: 141, choices: { tape: ["12 mm", "24 mm"], color } },
  { name: "Camp Stove", price: 109, choices: { burners: ["1", "2"], fuel: ["gas", "spirit"] } },
  { name: "Door Mat", price: 29, choices: { material: ["coir", "rubber"], color } },
  { name: "Shower Head", price: 68, choices: { finish, jets: ["1", "3", "5"] } },
  { name: "Magnifier Lamp", price: 115, choices: { lens: ["3 dioptre", "5 dioptre"], mount: ["clamp", "base"] } },
  { name: "Hammock", price: 88, choices: { color, size: ["single", "double"] } },
  { name: "Violin Case", price: 232, choices: { shell: ["carbon", "foam"], color } },
  { name: "Linen Shirt", price: 71, choices: { color, size } },
  { name: "Cork Board", price: 39, choices: { size: ["60 x 40 cm", "90 x 60 cm"], frame: wood } },
  { name: "Soda Maker", price: 134, choices: { color, bottle: capacity } },
  { name: "Tool Chest", price: 467, choices: { drawers: ["5", "7", "9"], color } },
  { name: "Weather Station", price: 278, choices: { sensors: ["3", "5", "7"], display: ["e-paper", "color"] } },
  { name: "Beehive Kit", price: 326, choices: { wood, frames: ["8", "10"] } },
  { name: "Ice Skates", price: 156, choices: { size, blade: ["figure", "hockey"] } },
  { name: "Mini Projector", price: 1160, choices: { resolution: ["720p", "1080p"], color } },
];
