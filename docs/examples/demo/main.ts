import { takesColour } from './colour.js'
import { runDemo } from './run.js'

// A pipe that is closed early, as by `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// `npm run` changes into the folder of the package: file names are meant from where it was called.
const calledFrom = process.env.npm_lifecycle_event === 'demo' ? process.env.INIT_CWD : undefined

process.exitCode = await runDemo(process.argv.slice(2), {
  folder: calledFrom ?? process.cwd(),
  stdin: process.stdin,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  takesColour: takesColour(process.stdout, process.env),
})

// A server that does not answer, and is no longer waited for, must not keep the process: its
// connections would.
setTimeout(() => process.exit(), 1000).unref()
