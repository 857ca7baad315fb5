import { createDice, type Dice } from "./dice.ts";
import { type Good, GOODS } from "./goods.ts";
import { roundMoney } from "../money.ts";
import type { Address, Order, Payment, PaymentMethod, Product, RetailData, User, Variant } from "./shape.ts";

const USERS = 500;
/** Number of orders by status. */
const ORDERS = { pending: 423, delivered: 373, processed: 102, cancelled: 102 };
/** The other users have no order yet. */
const BUYERS = 440;

/** An invented shop with 500 users, 1,000 orders and 50 products. The same seed always gives the same records. */
export function generateRetailData(seed = 20_26): RetailData {
  const dice = createDice(seed);
  const products = GOODS.map((good) => makeProduct(good, dice));
  const users = Array.from({ length: USERS }, () => makeUser(dice));
  const shelf = products.map((product) => ({ product, variants: Object.values(product.variants) }));
  const orders = shuffledStatuses(dice).map((status, i) => {
    const [userId, user] = users[i < BUYERS ? i : dice.between(0, BUYERS - 1)]!;
    const order = makeOrder(userId, user, status, shelf, dice);
    user.orders.push(order.order_id);
    return order;
  });
  return {
    users: Object.fromEntries(users),
    orders: Object.fromEntries(orders.map((order) => [order.order_id, order])),
    products: Object.fromEntries(products.map((product) => [product.product_id, product])),
  };
}

function makeProduct(good: Good, dice: Dice): Product {
  const combinations = Object.entries(good.choices).reduce<Record<string, string>[]>(
    (made, [choice, values]) => made.flatMap((options) => values.map((value) => ({ ...options, [choice]: value }))),
    [{}],
  );
  const variants: Record<string, Variant> = {};
  for (const options of combinations) {
    const item_id = dice.digits(10);
    const price = roundMoney(good.price * (0.9 + 0.2 * dice.fraction()));
    variants[item_id] = { item_id, options, available: dice.chance(0.65), price };
  }
  return { name: good.name, product_id: dice.digits(10), variants };
}

function makeUser(dice: Dice): [userId: string, user: User] {
  const first_name = dice.pick(FIRST_NAMES);
  const last_name = dice.pick(LAST_NAMES);
  const id = `${first_name}_${last_name}`.toLowerCase();
  const methods = Array.from({ length: dice.pick([1, 1, 1, 2, 2, 3]) }, () => makePaymentMethod(dice));
  return [
    `${id}_${dice.digits(4)}`,
    {
      name: { first_name, last_name },
      address: makeAddress(dice),
      email: `${first_name}.${last_name}${dice.digits(4)}@example.com`.toLowerCase(),
      payment_methods: Object.fromEntries(methods.map((method) => [method.id, method])),
      orders: [],
    },
  ];
}

function makePaymentMethod(dice: Dice): PaymentMethod {
  const source = dice.pick(["credit_card", "paypal", "gift_card"] as const);
  const id = `${source}_${dice.digits(7)}`;
  if (source === "paypal") return { source, id };
  if (source === "gift_card") return { source, balance: dice.chance(0.2) ? 900 : dice.between(0, 99), id };
  return { source, brand: dice.pick(["visa", "mastercard"]), last_four: dice.digits(4), id };
}

function makeAddress(dice: Dice): Address {
  const { city, state, zip } = dice.pick(CITIES);
  return {
    address1: `${dice.between(1, 990)} ${dice.pick(STREETS)}`,
    address2: `Unit ${dice.between(1, 99)}`,
    city,
    country: "USA",
    state,
    zip: `${zip}${dice.between(10, 99)}`,
  };
}

function shuffledStatuses(dice: Dice): string[] {
  return Object.entries(ORDERS)
    .flatMap(([status, count]) => Array.from({ length: count }, () => ({ status, place: dice.fraction() })))
    .sort((a, b) => a.place - b.place)
    .map(({ status }) => status);
}

function makeOrder(
  userId: string,
  user: User,
  status: string,
  shelf: { product: Product; variants: Variant[] }[],
  dice: Dice,
): Order {
  const items = Array.from({ length: dice.between(1, 5) }, () => {
    const { product, variants } = dice.pick(shelf);
    const { item_id, price, options } = dice.pick(variants);
    return { name: product.name, product_id: product.product_id, item_id, price, options: { ...options } };
  });
  const item_ids = items.map((item) => item.item_id);
  return {
    order_id: `#W${dice.digits(7)}`,
    user_id: userId,
    address: dice.chance(0.2) ? makeAddress(dice) : { ...user.address },
    items,
    fulfillments: status === "pending" ? [] : [{ tracking_id: [dice.digits(12)], item_ids }],
    status,
    payment_history: payments(
      roundMoney(items.reduce((sum, item) => sum + item.price, 0)),
      dice.pick(Object.keys(user.payment_methods)),
      status,
    ),
  };
}

function payments(amount: number, payment_method_id: string, status: string): Payment[] {
  const paid: Payment = { transaction_type: "payment", amount, payment_method_id };
  return status === "cancelled" ? [paid, { ...paid, transaction_type: "refund" }] : [paid];
}

/** Parts of the invented names and addresses. */
const FIRST_NAMES =
  "Ada Bela Cora Dario Edda Farid Greta Hana Ilse Jonas Kira Lars Mina Nils Odile Pavel Quentin Rosa Selim Tilda Umar Vera Wanda Xenia Yusuf Zora".split(
    " ",
  );

const LAST_NAMES =
  "Aldous Birk Castell Dunmore Ekdal Farrow Gandy Hollis Imre Jarvik Kestrel Lomax Marden Nyberg Okafor Pell Quist Rusk Sorley Tamm Ulrich Vance Wexler Yarrow Zeller".split(
    " ",
  );

const STREETS = [
  "Copper Row",
  "Ferry Street",
  "Lantern Way",
  "Mill Yard",
  "Orchard Rise",
  "Quarry Road",
  "Tannery Lane",
];

const CITIES = [
  { city: "Boise", state: "ID", zip: "837" },
  { city: "Duluth", state: "MN", zip: "558" },
  { city: "Eugene", state: "OR", zip: "974" },
  { city: "Laredo", state: "TX", zip: "780" },
  { city: "Mobile", state: "AL", zip: "366" },
  { city: "Portland", state: "ME", zip: "041" },
  { city: "Tucson", state: "AZ", zip: "857" },
];
