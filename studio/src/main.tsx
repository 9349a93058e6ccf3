import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@xyflow/react/dist/style.css";
import "./styles.css";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { connect } from "./studio";

connect();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
