import type { Page } from 'playwright-core'

/** The elements that move by themselves, or would on their next change: more than an instant is motion. */
export function motion(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const instant = 1 // ms
    const parts = [undefined, '::before', '::after']
    const told = (e: Element, part = '') =>
      `${(e.cloneNode(false) as Element).outerHTML.slice(0, 120)}${part}`
    const running = document.getAnimations().flatMap((animation) => {
      const { activeDuration, endTime } = animation.effect!.getComputedTiming()
      if (animation.playState !== 'running' || Number(activeDuration) <= instant) return []
      const target = (animation.effect as KeyframeEffect).target
      return [`runs to ${endTime} ms: ${target ? told(target) : 'the page'}`]
    })
    const longest = (times: string) => Math.max(...times.split(',').map((time) => parseFloat(time) * 1000))
    const wouldMove = [...document.querySelectorAll('*')].flatMap((e) =>
      parts.flatMap((part) => {
        const style = getComputedStyle(e, part)
        if (part && style.content === 'none') return []
        const slow = [
          longest(style.transitionDuration) > instant && `transition ${style.transitionDuration}`,
          longest(style.animationDuration) > instant && `animation ${style.animationDuration}`,
          style.scrollBehavior !== 'auto' && `scroll ${style.scrollBehavior}`,
        ].filter(Boolean)
        return slow.map((words) => `${String(words)}: ${told(e, part)}`)
      }),
    )
    return [...running, ...wouldMove]
  })
}
