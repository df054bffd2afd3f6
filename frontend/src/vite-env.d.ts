/// <reference types="vite/client" />

/** Marks words that are shown. The build puts those of src/words.json in their place (dev/words.mjs). */
declare function t(parts: TemplateStringsArray, ...values: unknown[]): string
