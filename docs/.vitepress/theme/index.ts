import Theme from "vitepress/theme-without-fonts";
import "./style.css";

// oxlint-disable-next-line import/no-default-export -- the form of a theme
export default Theme;
