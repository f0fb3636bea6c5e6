import { fileURLToPath } from 'node:url'
import { run } from './servers/tools.js'

const COMPILER = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

/**
 * Compiles a folder that needs what is only installed here, such as the types of a client. @throws
 * Error that says what does not compile
 */
export async function compile(folder: URL): Promise<undefined> {
  await run(process.execPath, [COMPILER, '-p', fileURLToPath(folder)], { seconds: 120 })
}
