// npm run acceptance -- [--dir DIR] [--file NAME] [--verbose]
import { acceptance } from './command.js'

process.exitCode = await acceptance(process.argv.slice(2), console)
