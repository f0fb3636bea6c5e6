import { register } from 'node:module'

// With `--import`, a program that loads @kubernetes/client-node gets the fake one, whether or not
// that package is installed.

const fake = new URL('fake-client-node.ts', import.meta.url).href
const hook = `export const resolve = (name, context, next) =>
  name === '@kubernetes/client-node' ? { url: ${JSON.stringify(fake)}, format: 'module', shortCircuit: true } : next(name, context)`

register(`data:text/javascript,${encodeURIComponent(hook)}`)
