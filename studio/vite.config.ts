import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../omni/warp_core/studio/page",
    emptyOutDir: true,
    license: true,
    assetsInlineLimit: 0, // the content security policy takes fonts and styles as files only
    chunkSizeWarningLimit: 2000,
  },
});
