import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { atExit } from './at-exit.js'
import { findProgram, run } from './tools.js'

const SECONDS = 600
const POLICY = '/usr/sbin/policy-rc.d'

/**
 * Has root install packages of Debian, without what they recommend and without any service of them
 * being started.
 *
 * @param what what they are for, as in "no PostgreSQL here"
 * @throws Error if that cannot be done; it says what to install
 */
export async function aptInstall(what: string, packages: readonly string[]): Promise<void> {
  const help = `no ${what} here. Debian: apt-get install ${packages.join(' ')}`
  const aptGet = findProgram('apt-get')
  if (aptGet === undefined || process.getuid?.() !== 0) throw new Error(help)
  console.log(`  no ${what} here: installing ${packages.join(' ')} by apt-get`)
  const apt = (...args: readonly string[]) =>
    run(aptGet, ['-o', 'DPkg::Lock::Timeout=300', '-q', ...args], {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      seconds: SECONDS,
    })
  const allowServices = forbidServices()
  try {
    await apt('update')
    await apt('install', '-y', '--no-install-recommends', ...packages)
  } catch (error) {
    throw new Error(`${help}\n${error instanceof Error ? error.message : error}`, { cause: error })
  } finally {
    allowServices()
  }
}

/**
 * While packages are installed, their services are not started: Debian asks this script, if there
 * is one. @returns ends that
 */
function forbidServices(): () => void {
  if (existsSync(POLICY)) return () => {}
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return atExit(() => rmSync(POLICY, { force: true }))
}
